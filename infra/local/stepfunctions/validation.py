"""Validation of definitions, with AWS's codes and places."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from local.stepfunctions.errors import ApiError
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.validation_errors import check_errors, check_machine_timeout
from local.stepfunctions.validation_scopes import inner_programs, shadowed
from local.stepfunctions.validation_shapes import check_shapes
from local.stepfunctions.validation_states import Diagnostic, check_state

_FIELDS: Final = ("StartAt", "States")


def parse_definition(text: str, kind: str) -> dict[str, Any]:
    """The definition as an object, fit to be compiled.

    Args:
        text: the definition.
        kind: STANDARD or EXPRESS.

    Raises:
        ApiError: InvalidDefinition with every diagnostic.
    """
    definition, diagnostics = diagnose(text, kind)
    errors = [entry for entry in diagnostics if entry.severity == "ERROR"]
    if errors:
        told = ", ".join(f"{entry.code}: {entry.sentence}" for entry in errors)
        raise ApiError("InvalidDefinition", f"Invalid State Machine Definition: '{told}'")
    return definition


def diagnose(text: str, kind: str) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The definition, empty when it is no object, and all that is wrong with it."""
    try:
        definition = json.loads(text) if text.strip() else None
    except ValueError as problem:
        return {}, [_not_json(text, problem)]
    if not isinstance(definition, dict):
        sentence = "Definition must be a valid JSON object"
        return {}, [Diagnostic("SCHEMA_VALIDATION_FAILED", sentence, None)]
    return definition, list(_machine(definition, kind))


def _not_json(text: str, problem: ValueError) -> Diagnostic:
    column = getattr(problem, "colno", 1)
    line = getattr(problem, "lineno", 1)
    word = text.split(maxsplit=1)[0] if text.split() else ""
    place = f'[Source: (String)"{text}"; line: {line}, column: {column + len(word)}]'
    expected = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
    sentence = f"Unrecognized token '{word}': was expecting {expected}\n at {place}"
    return Diagnostic("INVALID_JSON_DESCRIPTION", sentence, place)


def _machine(definition: Mapping[str, Any], kind: str) -> Iterator[Diagnostic]:
    language = definition.get("QueryLanguage", "JSONPath")
    if language not in ("JSONata", "JSONPath"):
        sentence = "The field 'QueryLanguage' should have one of these values: [JSONPath, JSONata]"
        yield Diagnostic("SCHEMA_VALIDATION_FAILED", sentence, "/QueryLanguage")
        return
    misshapen = list(check_shapes(definition))
    if misshapen:
        # What is of the wrong type cannot be looked into.
        yield from misshapen
        return
    yield from check_machine_timeout(definition)
    yield from _program(definition, "", language, kind)
    yield from shadowed(definition, "", frozenset())


def _program(
    fields: Mapping[str, Any], place: str, language: str, kind: str
) -> Iterator[Diagnostic]:
    absent = [name for name in _FIELDS if name not in fields]
    if absent:
        sentence = f"These fields are required: [{', '.join(absent)}]"
        yield Diagnostic("SCHEMA_VALIDATION_FAILED", sentence, place or "/")
        return
    states = fields["States"]
    if not isinstance(states, dict) or not states:
        yield Diagnostic("SCHEMA_VALIDATION_FAILED", "Value cannot be empty", f"{place}/States")
        return
    if fields["StartAt"] not in states:
        sentence = f"Missing 'StartAt' target: {fields['StartAt']}"
        yield Diagnostic("MISSING_TRANSITION_TARGET", sentence, f"{place}/StartAt")
    for name, state in states.items():
        yield from check_state(state, f"{place}/States/{name}", language, kind)
        yield from check_errors(state, f"{place}/States/{name}")
        for below, inner in inner_programs(state, f"{place}/States/{name}"):
            yield from _program(inner, below, language, _processor_kind(inner, kind))
    yield from _reachability(fields, place)


def _processor_kind(inner: Mapping[str, Any], kind: str) -> str:
    config = inner.get("ProcessorConfig")
    if not isinstance(config, dict):
        return kind
    return str(config.get("ExecutionType", kind))


def _reachability(fields: Mapping[str, Any], place: str) -> Iterator[Diagnostic]:
    states = fields["States"]
    for name, state in states.items():
        for field, target in targets(state):
            if target not in states:
                sentence = f"Missing 'Next' target: {target}"
                at = f"{place}/States/{name}/{field}"
                yield Diagnostic("MISSING_TRANSITION_TARGET", sentence, at)
    reached = _reached(fields["StartAt"], states)
    for name in states:
        if name not in reached:
            sentence = f'State "{name}" is not reachable.'
            yield Diagnostic("MISSING_TRANSITION_TARGET", sentence, f"{place}/States/{name}")


def _reached(start: str, states: Mapping[str, Any]) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in states:
            continue
        reached.add(name)
        waiting += [target for _, target in targets(states[name])]
    return reached


def targets(state: JsonValue) -> Iterator[tuple[str, str]]:
    """The states a state may lead to, each with the field that says so."""
    if not isinstance(state, dict):
        return
    for field in ("Next", "Default"):
        if isinstance(state.get(field), str):
            yield field, state[field]
    for field in ("Choices", "Catch"):
        entries = state.get(field)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict) and isinstance(entry.get("Next"), str):
                yield f"{field}[{number}]/Next", entry["Next"]
