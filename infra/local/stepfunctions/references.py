"""Which variables the states of a definition refer to, as DescribeStateMachine tells."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.payloads import is_expression

_STRINGS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_NAME: Final = re.compile(r"\$([A-Za-z_]\w*)\b(?!\s*(?:\(|:=))")
_BOUND: Final = re.compile(r"\$([A-Za-z_]\w*)\s*:=")
_PARAMETERS: Final = re.compile(r"function\s*\(([^)]*)\)")


def variable_references(definition: str) -> dict[str, list[str]]:
    """The variables each state reads, by the state's name; states that read none are left out."""
    parsed = json.loads(definition)
    return {name: found for name, found in _states(parsed, parsed.get("QueryLanguage")) if found}


def _states(program: Mapping[str, Any], language: str | None) -> Iterator[tuple[str, list[str]]]:
    for name, state in program.get("States", {}).items():
        if state.get("QueryLanguage", language) == "JSONata":
            own = {key: value for key, value in state.items() if key not in _INNER}
            yield name, sorted(set(_read(own)))
        for inner in _programs(state):
            yield from _states(inner, language)


_INNER: Final = ("Branches", "ItemProcessor", "Iterator")


def _programs(state: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from state.get("Branches", ())
    yield from (state[key] for key in ("ItemProcessor", "Iterator") if key in state)


def _read(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for member in value.values():
            yield from _read(member)
    elif isinstance(value, list):
        for member in value:
            yield from _read(member)
    elif is_expression(value):
        bare = _STRINGS.sub('""', value[2:-2])
        bound = set(_BOUND.findall(bare))
        for parameters in _PARAMETERS.findall(bare):
            bound |= set(re.findall(r"\$(\w+)", parameters))
        yield from (name for name in _NAME.findall(bare) if name != "states" and name not in bound)
