"""Whether an answer is the recorded one, wildcards and all, and where it first differs."""

import re
from collections.abc import Collection
from typing import Any, Final

from local.stepfunctions.jsontext import JsonValue

IGNORED: Final = frozenset(
    {
        "timestamp", "roleArn", "region", "SdkHttpMetadata", "SdkResponseMetadata",
        "billingDetails", "stackTrace", "requestId", "redriveCount", "redriveStatus",
        "redriveStatusReason", "RedriveCount", "RedriveStatus", "RedriveStatusReason",
    }
)  # fmt: skip
_WORDS: Final = frozenset(
    {
        "timestamp", "date", "datetime", "RequestId", "X-Amzn-Trace-Id", "x-amz-crc32",
        "x-amzn-RequestId", "x-amzn-requestid",
    }
)  # fmt: skip
_PLACEHOLDER: Final = re.compile(r"<(?:<[\w-]+>|[\w.-]+)(?::\d+)?>")
_NUMBERED: Final = re.compile(r"<[\w-]+:\d+>")
_SPACES: Final = re.compile(r"(?<=[:,]) (?=[\"\[{<\d-])")


class Matcher:
    """Compares answers with one case's recordings; remembers what its wildcards stood for.

    Args:
        words: the case's own words that stand for any value.
        ignored: members that are not compared.
    """

    def __init__(self, words: Collection[str] = (), ignored: Collection[str] = IGNORED) -> None:
        self._words = _WORDS | set(words)
        self._ignored = ignored
        self._bound: dict[str, str] = {}

    def difference(self, expected: JsonValue, found: JsonValue, path: str = "") -> str | None:
        """Where the answer first differs from the recording; None when it does not.

        Args:
            expected: the recording.
            found: the normalised answer.
            path: where in the answer both stand.
        """
        if isinstance(expected, str):
            return self._text(expected, found, path)
        if isinstance(expected, dict) and isinstance(found, dict):
            return self._object(expected, found, path)
        if isinstance(expected, list) and isinstance(found, list):
            return self._array(expected, found, path)
        same = type_of(expected) == type_of(found) and expected == found
        return None if same else f"{path}: {expected!r} against {found!r}"

    def _object(self, expected: dict[str, Any], found: dict[str, Any], path: str) -> str | None:
        keys = {key for key in expected if key not in self._ignored}
        own = {key for key in found if key not in self._ignored}
        if keys - own:
            return f"{path}/{min(keys - own)}: missing"
        if own - keys:
            return f"{path}/{min(own - keys)}: not recorded"
        for key in sorted(keys):
            told = self.difference(expected[key], found[key], f"{path}/{key}")
            if told is not None:
                return told
        return None

    def _array(self, expected: list[Any], found: list[Any], path: str) -> str | None:
        if len(expected) != len(found):
            return f"{path}: {len(expected)} members against {len(found)}"
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            told = self.difference(one, other, f"{path}[{number}]")
            if told is not None:
                return told
        return None

    def _text(self, expected: str, found: JsonValue, path: str) -> str | None:
        if expected in self._words or _PLACEHOLDER.fullmatch(expected):
            return self._bind_whole(expected, found, path)
        if isinstance(found, str) and self._same_text(expected, found):
            return None
        return f"{path}: {expected!r} against {found!r}"

    def _bind_whole(self, expected: str, found: JsonValue, path: str) -> str | None:
        if not _NUMBERED.fullmatch(expected) or not isinstance(found, str):
            return None
        known = self._bound.setdefault(expected, found)
        return None if known == found else f"{path}: {expected} was {known!r}, now {found!r}"

    def _same_text(self, expected: str, found: str) -> bool:
        if expected == found:
            return True
        if expected.startswith("{"):
            # The recordings lost whether a space stood after a colon or a comma.
            expected, found = _SPACES.sub("", expected), _SPACES.sub("", found)
            if expected == found:
                return True
        names, pattern = self._pattern(expected)
        match = re.fullmatch(pattern, found, re.DOTALL) if names else None
        if match is None:
            return False
        for name, value in zip(names, match.groups(), strict=True):
            if _NUMBERED.fullmatch(name) and self._bound.setdefault(name, value) != value:
                return False
        return True

    def _pattern(self, expected: str) -> tuple[list[str], str]:
        words = sorted((re.escape(word) for word in self._words if word in expected), key=len)
        marks = re.compile("|".join([_PLACEHOLDER.pattern, *reversed(words)]))
        pieces: list[str] = []
        names: list[str] = []
        end = 0
        for mark in marks.finditer(expected):
            pieces += [re.escape(expected[end : mark.start()]), "(.*?)"]
            names.append(mark[0])
            end = mark.end()
        pieces.append(re.escape(expected[end:]))
        return names, "".join(pieces)


def type_of(value: JsonValue) -> str:
    """The JSON type of a value; all numbers are one type."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__
