"""Validation of shapes: what the other checks, and the states themselves, take for granted."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.validation_states import Diagnostic

_TYPES: Final[Mapping[str, type]] = {
    "Array": list,
    "Boolean": bool,
    "Object": dict,
    "String": str,
}
_PROGRAM: Final = {"StartAt": "String"}
_STATE: Final = {
    "Assign": "Object",
    "Branches": "Array",
    "Choices": "Array",
    "Default": "String",
    "End": "Boolean",
    "ItemBatcher": "Object",
    "ItemProcessor": "Object",
    "ItemReader": "Object",
    "Iterator": "Object",
    "Next": "String",
    "Resource": "String",
    "ResultWriter": "Object",
}
_ENTRY: Final = {"Assign": "Object", "Next": "String"}
_PROCESSOR: Final = {"ProcessorConfig": "Object"}


def check_shapes(program: Mapping[str, Any], place: str = "") -> Iterator[Diagnostic]:
    """What is of another JSON type than it must be, in a program and all inside it.

    Args:
        program: a machine, a branch or a processor.
        place: where it stands, "" for the machine.
    """
    yield from _fields(program, _PROGRAM, place)
    states = program.get("States")
    if not isinstance(states, dict):
        return
    for name, state in states.items():
        if isinstance(state, dict):
            yield from _state(state, f"{place}/States/{name}")


def _state(state: Mapping[str, Any], place: str) -> Iterator[Diagnostic]:
    yield from _fields(state, _STATE, place)
    for rule, at in _entries(state, "Choices", place):
        yield from _object(rule, at, _ENTRY)
    for catcher, at in _entries(state, "Catch", place):
        if isinstance(catcher, dict):
            yield from _fields(catcher, _ENTRY, at)
    for branch, at in _entries(state, "Branches", place):
        yield from _object(branch, at, {})
        if isinstance(branch, dict):
            yield from check_shapes(branch, at)
    for name in ("ItemProcessor", "Iterator"):
        processor = state.get(name)
        if isinstance(processor, dict):
            yield from _fields(processor, _PROCESSOR, f"{place}/{name}")
            yield from check_shapes(processor, f"{place}/{name}")


def _entries(state: Mapping[str, Any], name: str, place: str) -> Iterator[tuple[JsonValue, str]]:
    entries = state.get(name)
    if isinstance(entries, list):
        for number, entry in enumerate(entries):
            yield entry, f"{place}/{name}[{number}]"


def _object(value: JsonValue, place: str, fields: Mapping[str, str]) -> Iterator[Diagnostic]:
    if isinstance(value, dict):
        yield from _fields(value, fields, place)
    else:
        yield _wrong("Object", place)


def _fields(
    value: Mapping[str, Any], fields: Mapping[str, str], place: str
) -> Iterator[Diagnostic]:
    for name, wanted in fields.items():
        if name in value and not isinstance(value[name], _TYPES[wanted]):
            yield _wrong(wanted, f"{place}/{name}")


def _wrong(wanted: str, place: str) -> Diagnostic:
    return Diagnostic("SCHEMA_VALIDATION_FAILED", f"Expected value of type {wanted}", place)
