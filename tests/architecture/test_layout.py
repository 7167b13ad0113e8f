"""The files: exactly the top-level names, none too long, none that names a machine or a host."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from architecture.project import ROOT, hold

TOP: Final = frozenset(
    {
        ".ci",
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "docs",
        "functions",
        "infra",
        "pyproject.toml",
        "samconfig.toml",
        "statemachines",
        "template.yaml",
        "tests",
    }
)
LINES: Final = 400
LONG: Final[Mapping[str, str]] = {
    "statemachines/ingest-documents.asl.json": "retry policies are written out in every state",
    "infra/local/stepfunctions/engine.py": "one class, a method for each thing the API can do",
    "template.yaml": "every function and machine with its permissions; the rest is nested stacks",
}
"""Files outside tests over 400 lines, and why."""

# Each pattern is written so that it does not match itself
FOREIGN: Final = {
    "a path of one machine": r"/(?:[r]oot|[h]ome/\w+|[U]sers/\w+|[w]ork/(?:main|wt|shared|\.))/",
    "a package registry": r"[p]ypi\.org|[p]ythonhosted\.org|[n]pmjs\.(?:org|com)|[c]rates\.io",
    "where packages come from": r"--(?:[e]xtra-)?[i]ndex-url|--[f]ind-links|--[t]rusted-host",
}


def strange_names(top: Iterable[str]) -> Iterator[str]:
    found = set(top)
    yield from (f"{name}: does not belong at the top" for name in sorted(found - TOP))
    yield from (f"{name}: is missing at the top" for name in sorted(TOP - found))


def too_long(files: Mapping[str, str]) -> Iterator[str]:
    for name, text in files.items():
        lines = text.count("\n")
        if lines > LINES and not name.startswith("tests/") and name not in LONG:
            yield f"{name}: has {lines} lines; split it, or give a reason in LONG"


def foreign(files: Mapping[str, str]) -> Iterator[str]:
    for name, text in files.items():
        for what, pattern in FOREIGN.items():
            if found := re.search(pattern, text):
                yield f"{name}: names {what}: {found[0]}"


def code_in_packages(files: Mapping[str, str]) -> Iterator[str]:
    for name, text in files.items():
        if name.endswith("__init__.py") and text.strip():
            yield f"{name}: holds code; packages are empty"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Text of every file that is committed or about to be."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git here: which files belong to the project is unknown")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [Path(name) for name in names.split("\0") if name and (ROOT / name).is_file()]
    return {str(path): _text(ROOT / path) for path in paths}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""


def test_the_top_holds_exactly_what_it_should(files: Mapping[str, str]) -> None:
    hold(strange_names(Path(name).parts[0] for name in files))


def test_a_strange_or_missing_name_at_the_top_is_named() -> None:
    assert list(strange_names(TOP - {"LICENSE"} | {"utils"})) == [
        "utils: does not belong at the top",
        "LICENSE: is missing at the top",
    ]


def test_no_file_is_too_long(files: Mapping[str, str]) -> None:
    hold(too_long(files))
    short = [name for name in LONG if files.get(name, "").count("\n") <= LINES]
    hold(f"{name}: is not too long any more; take its reason out of LONG" for name in short)


def test_a_long_file_is_named() -> None:
    long = {"functions/x.py": "\n" * 401, "tests/x.py": "\n" * 500}
    assert list(too_long(long)) == [
        "functions/x.py: has 401 lines; split it, or give a reason in LONG"
    ]


def test_no_file_names_a_machine_or_a_registry(files: Mapping[str, str]) -> None:
    hold(foreign(files))


def test_a_path_and_a_host_are_named() -> None:
    texts = {"a": "cd /ro" + "ot/x", "b": "https://pypi" + ".org", "c": "--index" + "-url=x"}
    assert list(foreign(texts)) == [
        "a: names a path of one machine: /ro" + "ot/",
        "b: names a package registry: pypi" + ".org",
        "c: names where packages come from: --index" + "-url",
    ]


def test_packages_hold_no_code(files: Mapping[str, str]) -> None:
    hold(code_in_packages(files))


def test_code_in_a_package_is_named() -> None:
    assert list(code_in_packages({"a/__init__.py": "import b", "b/__init__.py": ""})) == [
        "a/__init__.py: holds code; packages are empty"
    ]
