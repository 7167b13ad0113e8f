#!/bin/sh
# Builds layers and functions into .aws-sam under Lambda's own minor version of Python: compiled
# files of another version would be ignored there.
set -eu

usable() { "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; }

if ! usable python3.13; then
    for folder in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13.*/bin; do
        if usable "$folder/python3.13"; then
            PATH="$folder:$PATH"
        fi
    done
fi
if ! usable python3.13; then
    echo "autoops: the build needs python3.13 on PATH, Lambda's version; install it and try again" >&2
    exit 1
fi

.venv-sam/bin/sam build "$@"
