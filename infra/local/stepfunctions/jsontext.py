"""JSON as text and as value, each made at most once and only when somebody asks for it."""

import json
from typing import Any, TypeAlias

import orjson

JsonValue: TypeAlias = Any
"""null, a boolean, a number, a text, a list or a dict with texts as keys."""


def loads(text: str | bytes) -> JsonValue:
    """Parse JSON text.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text, parse_constant=_refuse)


def dumps(value: JsonValue) -> str:
    """Write a value as compact JSON text, as Step Functions does."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _refuse(name: str) -> JsonValue:
    raise ValueError(f"{name} is not JSON")


class Json:
    """One JSON document.

    It passes from state to state unchanged, so the text of one state's output is the very
    text of the next state's input. Nobody changes `data` in place.
    """

    __slots__ = ("_data", "_text")

    def __init__(self, data: JsonValue, text: str | None = None) -> None:
        self._data = data
        self._text = text

    @classmethod
    def parse(cls, text: str) -> "Json":
        """Keep the text as it came and the value it means.

        Raises:
            ValueError: the text is not JSON.
        """
        return cls(loads(text), text)

    @property
    def data(self) -> JsonValue:
        """The value."""
        return self._data

    @property
    def text(self) -> str:
        """The JSON text."""
        if self._text is None:
            self._text = dumps(self._data)
        return self._text

    def exceeds(self, limit: int) -> bool:
        """Whether the text is longer than `limit` bytes of UTF-8."""
        text = self.text
        if len(text) > limit:
            return True
        # A character is at most four bytes, so most texts need no encoding to be measured.
        return len(text) * 4 > limit and len(text.encode()) > limit
