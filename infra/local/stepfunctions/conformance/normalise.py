"""Our own answers in the form the recorder gave to AWS's: the rules of the recordings."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from local.stepfunctions.events import Event
from local.stepfunctions.jsontext import JsonValue, dumps

_PARSED: Final = ("input", "output", "parameters")
_ISO: Final = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
    r"(?:\.\d{1,9})?(?:Z|[+-][01]\d:?[0-5]\d)"
)


def plain_event(event: Event) -> dict[str, Any]:
    """An event with the members that recordings keep."""
    details = dict(event.details)
    shape: dict[str, Any] = {"id": event.id, "prev": event.previous, "type": event.type}
    if event.type.endswith(("StateEntered", "StateExited")):
        shape["stateName"] = details.pop("name")
    shape["details"] = {name: _member(name, value) for name, value in details.items()}
    return shape


def _member(name: str, value: JsonValue) -> JsonValue:
    if name == "assignedVariables":
        return value
    return json.loads(value) if name in _PARSED else parse_objects(value)


def normalise(answer: JsonValue, bindings: Sequence[Sequence[str]]) -> JsonValue:
    """Apply the bindings, mask times and the partition.

    Args:
        answer: an answer of the engine, JSON texts in it parsed one level.
        bindings: concrete text and the recorder's word for it, applied in order.
    """
    text = dumps(answer)
    for concrete, word in bindings:
        text = text.replace(_escaped(concrete), _escaped(word))
    text = _ISO.sub("date", text)
    text = text.replace("us-east-1", "<region>").replace("arn:aws:", "arn:<partition>:")
    return json.loads(text)


def parse_objects(value: JsonValue) -> JsonValue:
    """Texts that are JSON objects become objects; what is inside those stays text."""
    if isinstance(value, dict):
        return {key: parse_objects(member) for key, member in value.items()}
    if isinstance(value, list):
        return [parse_objects(member) for member in value]
    if isinstance(value, str) and value.startswith("{"):
        try:
            parsed = json.loads(value)
        except ValueError:
            return value
        return parsed if isinstance(parsed, dict) else value
    return value


def _escaped(text: str) -> str:
    return dumps(text)[1:-1]
