"""A tool's input as it came: botocore's parser drops fields given twice and digits of numbers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from autoops.domain.contracts import Json


@dataclass(frozen=True)
class ToolInput:
    """One call of a tool.

    Attributes:
        text: its input in JSON, every field and digit kept.
        lossy: reading it as plain values would lose some of it.
    """

    text: str
    lossy: bool


class _Object(list[tuple[str, Json]]):
    """The fields of an object in their order, some perhaps twice."""

    def get(self, name: str) -> Json:
        return next((value for key, value in self if key == name), None)


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def tool_inputs(body: bytes, tool: str) -> tuple[ToolInput, ...]:
    """The inputs of all calls of the tool in an answer of Converse; none where it has no such."""
    try:
        answer = json.loads(
            body,
            object_pairs_hook=_Object,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_Number,
        )
        blocks = answer.get("output").get("message").get("content") or []
        calls = [block.get("toolUse") for block in blocks if block.get("toolUse")]
        given = [call.get("input") for call in calls if call.get("name") == tool]
        return tuple(ToolInput(_text(one), any(_losses(one))) for one in given)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return ()


def _text(value: Json) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, _Object):
        return f"{{{','.join(f'{json.dumps(name)}:{_text(item)}' for name, item in value)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    return json.dumps(value)


def _losses(value: Json) -> Iterator[bool]:
    if isinstance(value, _Number):
        yield _loses_digits(value)
    elif isinstance(value, _Object):
        yield len({name for name, _ in value}) < len(value)
        for _, item in value:
            yield from _losses(item)
    elif isinstance(value, list):
        for item in value:
            yield from _losses(item)


def _loses_digits(number: str) -> bool:
    if set(number) <= set("-0123456789"):
        return False
    exact = Decimal(number)
    return not exact.is_finite() or Decimal(repr(float(number))) != exact
