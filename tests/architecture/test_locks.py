"""The locks are what pyproject asks for: complete, one version each, layers by platform.

Read from the metadata of what is installed, so that the gate needs no network; `make lock` writes
them anew.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from typing import Final

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from architecture.project import ROOT, Json, hold

LOCK: Final = "infra/local/requirements.txt"
LAYERS: Final = ("runtime", "bedrock", "documents")
LAMBDA: Final[dict[str, str]] = {
    "python_version": "3.13",
    "python_full_version": "3.13.0",
    "platform_machine": "aarch64",
    "platform_system": "Linux",
    "sys_platform": "linux",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "extra": "",
}

Pins = Mapping[str, str]


def incomplete(lock: Pins, wanted: Mapping[str, str | None], name: str) -> Iterator[str]:
    for package, installed in sorted(wanted.items()):
        if package not in lock:
            yield f"{name}: lacks {package}; run make lock"
        elif installed not in (None, lock[package]):
            yield f"{name}: has {package} {lock[package]}, installed is {installed}; run make"


def unequal(layer: Pins, wanted: set[str], lock: Pins, name: str) -> Iterator[str]:
    yield from (f"{name}: lacks {one}; run make lock" for one in sorted(wanted - layer.keys()))
    yield from (
        f"{name}: has {one}, unneeded; run make lock" for one in sorted(layer.keys() - wanted)
    )
    for package in sorted(layer.keys() & lock.keys()):
        if layer[package] != lock[package]:
            yield f"{name}: {package} {layer[package]}, the lock has {lock[package]}; run make lock"


def pins(text: str, environment: Mapping[str, str]) -> Pins:
    """Version by package, of the lines that apply in an environment."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    found = (Requirement(line) for line in lines)
    return {
        canonicalize_name(one.name): str(one.specifier).removeprefix("==")
        for one in found
        if one.marker is None or one.marker.evaluate(dict(environment))
    }


def closure(group: str, environment: Mapping[str, str]) -> dict[str, str | None]:
    """Every package that a dependency group needs there, with its installed version."""
    reached: dict[str, str | None] = {}
    done: set[tuple[str, frozenset[str]]] = set()
    waiting = list(_group(group))
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if (name, frozenset(wanted.extras)) in done:
            continue
        done.add((name, frozenset(wanted.extras)))
        reached[name], needs = _installed(name)
        for need in needs:
            if any(_applies(need, environment, extra) for extra in ("", *wanted.extras)):
                waiting.append(need)
    return reached


def _installed(name: str) -> tuple[str | None, list[Requirement]]:
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None, []  # for another platform than this one
    return found.version, [Requirement(line) for line in found.requires or []]


def _applies(need: Requirement, environment: Mapping[str, str], extra: str) -> bool:
    return need.marker is None or need.marker.evaluate({**environment, "extra": extra})


def _group(name: str) -> Iterator[Requirement]:
    groups: Mapping[str, list[Json]] = tomllib.loads((ROOT / "pyproject.toml").read_text())[
        "dependency-groups"
    ]
    for entry in groups[name]:
        if isinstance(entry, str):
            yield Requirement(entry)
        else:
            yield from _group(entry["include-group"])


def _here() -> dict[str, str]:
    return {name: str(value) for name, value in default_environment().items()}


def _read(path: str, environment: Mapping[str, str]) -> Pins:
    return pins((ROOT / path).read_text(), environment)


def test_the_lock_holds_what_pyproject_asks_for_as_installed() -> None:
    hold(incomplete(_read(LOCK, _here()), closure("dev", _here()), LOCK))


def test_a_missing_or_other_pin_is_named() -> None:
    assert list(incomplete({"rich": "1"}, {"rich": "2", "typer": "3"}, LOCK)) == [
        f"{LOCK}: has rich 1, installed is 2; run make",
        f"{LOCK}: lacks typer; run make lock",
    ]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_the_export_of_its_group(layer: str) -> None:
    path = f"infra/layers/{layer}/requirements.txt"
    wanted = set(closure(layer, LAMBDA))
    if layer != "runtime":
        wanted -= set(closure("runtime", LAMBDA))
    hold(unequal(_read(path, LAMBDA), wanted, _read(LOCK, LAMBDA), path))


def test_a_layer_that_differs_is_named() -> None:
    layer, lock = {"pydantic": "1", "pandas": "2"}, {"pydantic": "3"}
    assert list(unequal(layer, {"pydantic", "boto3"}, lock, "layer")) == [
        "layer: lacks boto3; run make lock",
        "layer: has pandas, unneeded; run make lock",
        "layer: pydantic 1, the lock has 3; run make lock",
    ]


def test_every_line_of_a_lock_is_one_exact_version() -> None:
    paths = [LOCK, "infra/sam-requirements.txt"]
    paths += [f"infra/layers/{layer}/requirements.txt" for layer in LAYERS]
    for path in paths:
        for line in (ROOT / path).read_text().splitlines():
            assert re.match(r"^[a-z0-9._-]+==[^ ]+( ; .+)?$", line), f"{path}: {line}"
