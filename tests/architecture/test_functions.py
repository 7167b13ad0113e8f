"""The code: no function too long, and a file of its own for each type of state."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from architecture.project import ROOT, hold
from local.stepfunctions.states.base import State

LINES: Final = 40
"""A function may have so many without its docstring."""
STATES: Final = "infra/local/stepfunctions/states"
TYPES: Final = frozenset(
    {"Choice", "Fail", "Map", "Parallel", "Pass", "Succeed", "Task", "Wait", "DistributedMap"}
)


def sources(*folders: str) -> dict[str, str]:
    files = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text() for path in sorted(files)}


def too_long(files: Mapping[str, str]) -> Iterator[str]:
    for name, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and size(node) > LINES:
                yield f"{name}: {node.name} has {size(node)} lines; split it"


def size(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - ((docstring.end_lineno or 0) - docstring.lineno + 1)


def state_classes(files: Mapping[str, str]) -> dict[str, list[str]]:
    """By file, the classes of it that are types of states."""
    found = {}
    for name, text in files.items():
        classes = [node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
        found[name] = [each for each in classes if each in TYPES]
    return found


def crowded(found: Mapping[str, list[str]]) -> Iterator[str]:
    for name, classes in found.items():
        if len(classes) > 1:
            yield f"{name}: holds {' and '.join(classes)}; each type of state has its own file"
    missing = TYPES - {each for classes in found.values() for each in classes}
    yield from (f"{each}: this type of state has no file" for each in sorted(missing))


def test_no_function_is_too_long() -> None:
    hold(too_long(sources("functions", "infra")))


def test_a_long_function_is_named() -> None:
    body = "\n".join(f"    x = {number}" for number in range(LINES))
    text = f'def short():\n    """Says.\n\n    More.\n    """\n    x = 1\n\n\ndef long():\n{body}\n'
    assert list(too_long({"a.py": text})) == ["a.py: long has 41 lines; split it"]


def test_each_type_of_state_has_a_file_of_its_own() -> None:
    hold(crowded(state_classes(sources(STATES))))


def test_the_types_of_states_are_those_of_the_engine() -> None:
    for path in (ROOT / STATES).glob("*.py"):
        __import__(f"local.stepfunctions.states.{path.stem}")
    named = {each.__name__ for each in below(State) if not each.__name__.startswith("_")}
    assert named - {"Answered"} == TYPES


def below(parent: type[State]) -> Iterator[type[State]]:
    for each in parent.__subclasses__():
        yield each
        yield from below(each)


def test_two_types_in_one_file_and_a_missing_one_are_named() -> None:
    found = {"a.py": ["Pass", "Fail"], "b.py": sorted(TYPES - {"Pass", "Fail", "Wait"})[:1]}
    told = list(crowded(found))
    assert told[0] == "a.py: holds Pass and Fail; each type of state has its own file"
    assert "Wait: this type of state has no file" in told
