#!/bin/sh
# Makes a Python environment from a lock, once; again only when the lock or the place changed.
#
#   infra/environment.sh <folder> <lock> [editable]
#
# The stamp is written last, so an interrupted install is never taken for a finished one.
set -eu

folder=$1
lock=$2
editable=${3:-}

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "autoops: $*"
    exit 1
}

usable() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; }

find_python() {
    for candidate in python3.13 python3.12 python3.11 python3 python; do
        if usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    found=$(python3 --version 2>/dev/null || echo "no python3")
    fail "needs Python 3.11, 3.12 or 3.13; found $found. Install one and run the command again."
}

described() {
    pwd -P
    cat "$lock"
}

made() { [ -x "$folder/bin/python" ] && described | cmp -s - "$folder/installed"; }

make_environment() {
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "$python has no venv module; on Debian or Ubuntu: apt-get install python3-venv"
    say "autoops: installing $(grep -c == "$lock") packages into $folder with" \
        "$("$python" --version), once; takes a minute or two"
    rm -f "$folder/installed" "$folder/linked"
    "$python" -m venv --clear "$folder"
    "$folder/bin/python" -m pip install -qq --disable-pip-version-check --no-input --no-deps \
        --requirement "$lock" || fail "installing $lock failed; see pip's words above"
    described >"$folder/unfinished"
    mv "$folder/unfinished" "$folder/installed"
}

link_project() {
    cmp -s pyproject.toml "$folder/linked" && return
    rm -f "$folder/linked"
    "$folder/bin/python" -m pip install -qq --disable-pip-version-check --no-input --no-deps \
        --no-build-isolation --editable . || fail "installing autoops itself failed"
    cp pyproject.toml "$folder/unfinished"
    mv "$folder/unfinished" "$folder/linked"
}

made || make_environment
[ -z "$editable" ] || link_project
