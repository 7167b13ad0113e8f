"""Validation of what a state says about errors and time: Retry, Catch and the limits."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from local.stepfunctions.errors import ALL
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.payloads import is_expression
from local.stepfunctions.validation_states import Diagnostic

_SCHEMA: Final = "SCHEMA_VALIDATION_FAILED"
_MOST_SECONDS: Final = 99_999_999
_SECONDS: Final = f"Expected value of type Integer from 1 to {_MOST_SECONDS}"
_MOST_DELAY: Final = 31_622_400
_Check = Callable[[Any], bool]


def check_errors(state: JsonValue, place: str) -> Iterator[Diagnostic]:
    """All that is wrong with the Retry, the Catch and the limits of one state.

    Args:
        state: its ASL.
        place: where it stands, such as "/States/First".
    """
    if not isinstance(state, dict):
        return
    for name in ("TimeoutSeconds", "HeartbeatSeconds"):
        if name in state and not (is_expression(state[name]) or _whole(1)(state[name])):
            yield Diagnostic(_SCHEMA, _SECONDS, f"{place}/{name}")
    for name, required in (("Retry", ["ErrorEquals"]), ("Catch", ["ErrorEquals", "Next"])):
        if name in state:
            yield from _handlers(state[name], f"{place}/{name}", required)


def check_machine_timeout(definition: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """The machine's own TimeoutSeconds, which is never an expression."""
    if "TimeoutSeconds" in definition and not _whole(1)(definition["TimeoutSeconds"]):
        yield Diagnostic(_SCHEMA, _SECONDS, "/TimeoutSeconds")


def _handlers(entries: JsonValue, place: str, required: list[str]) -> Iterator[Diagnostic]:
    if not isinstance(entries, list):
        yield Diagnostic(_SCHEMA, "Expected value of type Array", place)
        return
    for number, entry in enumerate(entries):
        at = f"{place}[{number}]"
        if not isinstance(entry, dict):
            yield Diagnostic(_SCHEMA, "Expected value of type Object", at)
            continue
        absent = [name for name in required if name not in entry]
        if absent:
            yield Diagnostic(_SCHEMA, f"These fields are required: [{', '.join(absent)}]", at)
            continue
        yield from _names(entry["ErrorEquals"], f"{at}/ErrorEquals", last=entry is entries[-1])
        if "Next" not in required:
            yield from _numbers(entry, at)


def _names(names: JsonValue, place: str, *, last: bool) -> Iterator[Diagnostic]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        yield Diagnostic(_SCHEMA, "Expected value of type Array of String", place)
    elif not names:
        yield Diagnostic(_SCHEMA, "Value cannot be empty", place)
    elif ALL in names and len(names) > 1:
        yield Diagnostic(_SCHEMA, f"'{ALL}' must appear alone", place)
    elif ALL in names and not last:
        yield Diagnostic(_SCHEMA, f"'{ALL}' must be in the last entry", place)


def _whole(least: int, most: int = _MOST_SECONDS) -> _Check:
    def check(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return check


def _rate(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 1


_NUMBERS: Final[tuple[tuple[str, _Check, str], ...]] = (
    ("IntervalSeconds", _whole(1), f"Integer from 1 to {_MOST_SECONDS}"),
    ("MaxAttempts", _whole(0), f"Integer from 0 to {_MOST_SECONDS}"),
    ("MaxDelaySeconds", _whole(1, _MOST_DELAY - 1), f"Integer from 1 to {_MOST_DELAY - 1}"),
    ("BackoffRate", _rate, "Number of at least 1"),
    ("JitterStrategy", lambda value: value in ("FULL", "NONE"), "String: FULL or NONE"),
)


def _numbers(entry: dict[str, Any], place: str) -> Iterator[Diagnostic]:
    for name, check, wanted in _NUMBERS:
        if name in entry and not check(entry[name]):
            yield Diagnostic(_SCHEMA, f"Expected value of type {wanted}", f"{place}/{name}")
