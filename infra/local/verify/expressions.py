"""JSONata as far as counting needs it: numbers, counters, and when a condition surely holds.

A condition is read as comparisons joined by `and`, `or` and `$not(...)`. A comparison of counters
and numbers has an answer; whatever else stands there may hold or not.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

Json = Any
Values = Mapping[str, int | None]
"""What each variable holds; None where that is not known."""

_WHOLE: Final = re.compile(r"\{%(.*)%\}", re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d+")
_MADE_NUMBER: Final = re.compile(r"\$number\(\s*['\"](\d+)['\"]\s*\)")
_VARIABLE: Final = re.compile(r"\$([A-Za-z_]\w*)")
_READ: Final = re.compile(r"\$([A-Za-z_]\w*)(?!\w|\s*\()")
_GROWS: Final = re.compile(r"\$([A-Za-z_]\w*)\s*\+\s*(\d+)|(\d+)\s*\+\s*\$([A-Za-z_]\w*)")
_INPUT: Final = re.compile(r"\$states\.(?:input|context\.Execution\.Input)\.([A-Za-z_]\w*)")
_COMPARED: Final = re.compile(r"(.+?)\s*(<=|>=|<|>|=)\s*(.+)", re.DOTALL)
_LEAST: Final = re.compile(r"\$min\(\s*\[(.*)\]\s*\)", re.DOTALL)
_NOW: Final = (
    r"(?:\$millis\(\)|\$toMillis\(\s*(?:\$now\(\)|\$states\.context\.State\.EnteredTime)\s*\))"
)
_IS_NOW: Final = re.compile(_NOW)
_LATER: Final = re.compile(rf"{_NOW}\s*\+\s*([\d_]+(?:\s*\*\s*\d+)*)")
_STRING: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
_HOLDS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "=": lambda one, other: one == other,
}


def expression(value: Json) -> str | None:
    """The JSONata in `{% %}`, None for anything else."""
    found = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return found[1].strip() if found else None


def constant(value: Json) -> int | None:
    """A number written out, as JSON, as JSONata or by `$number('...')`; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    text = expression(value)
    made = text is not None and (_NUMBER.fullmatch(text) or _MADE_NUMBER.fullmatch(text))
    return int(made[made.re.groups]) if made else None


def at_most(value: Json) -> int | None:
    """The most that a number can be: itself, or the least of a `$min([...])`."""
    known = constant(value)
    found = _LEAST.fullmatch(expression(value) or "")
    if known is not None or found is None:
        return known
    parts = [constant(f"{{% {part.strip()} %}}") for part in _split(found[1], ",")]
    return min((part for part in parts if part is not None), default=None)


def variable(value: Json) -> str | None:
    """The name of a variable that is handed on whole, None for anything else."""
    found = _VARIABLE.fullmatch(expression(value) or "")
    return found[1] if found and found[1] != "states" else None


def names_in(text: str) -> set[str]:
    """Names of the variables that an expression reads; what stands in quotes is none."""
    return set(_READ.findall(_STRING.sub("''", text))) - {"states"}


def growth(name: str, value: Json) -> int | None:
    """By how much an assignment to the variable makes it grow, None when it does anything else."""
    found = _GROWS.fullmatch(expression(value) or "")
    if found is None or (found[1] or found[4]) != name:
        return None
    return int(found[2] or found[3]) or None


def input_field(value: Json) -> str | None:
    """The field of the state's input that is read whole, None for anything else."""
    found = _INPUT.fullmatch(expression(value) or "")
    return found[1] if found else None


def seconds_ahead(value: Json) -> int | None:
    """Seconds from now to the moment that is assigned, None when it is no such moment."""
    found = _LATER.fullmatch(expression(value) or "")
    if found is None:
        return None
    product = 1
    for factor in found[1].split("*"):
        product *= int(factor.strip().replace("_", ""))
    return -(-product // 1000)


def _is_over(left: int | None, sign: str) -> bool | None:
    """Whether the present moment compares so with one that is at most so many seconds away."""
    if left is None or left > 0:
        return None
    if left == 0 and sign not in (">=", "<"):
        return None
    return sign in (">", ">=")


@dataclass(frozen=True)
class Comparison:
    """Two sides, each a number, the name of a variable, or the present moment ("")."""

    left: int | str
    sign: str
    right: int | str

    def holds(self, values: Values, left: Values) -> bool | None:
        """Whether it holds; None when it may or may not.

        Args:
            values: of the variables.
            left: seconds left until the moment that a variable names, at most.
        """
        if self.right == "":
            return Comparison(self.right, _MIRRORED[self.sign], self.left).holds(values, left)
        if self.left == "":
            return _is_over(left.get(str(self.right)), self.sign)
        one, other = _value(self.left, values), _value(self.right, values)
        return None if one is None or other is None else _HOLDS[self.sign](one, other)

    def variables(self) -> Iterator[str]:
        """The variables it compares."""
        yield from (side for side in (self.left, self.right) if isinstance(side, str) and side)

    @property
    def is_deadline(self) -> bool:
        """Whether it asks if a moment has come."""
        return "" in (self.left, self.right)


@dataclass(frozen=True)
class Condition:
    """A condition, as far as it is understood.

    Attributes:
        kind: "and", "or", "not", "compare", or "unknown".
        parts: what is joined.
        comparison: for "compare".
    """

    kind: str
    parts: tuple["Condition", ...] = ()
    comparison: Comparison | None = None

    def holds(self, values: Values, left: Values) -> bool | None:
        """Whether it holds; None when it may or may not."""
        if self.comparison is not None:
            return self.comparison.holds(values, left)
        found = [part.holds(values, left) for part in self.parts]
        if self.kind == "not":
            return None if found[0] is None else not found[0]
        decisive = self.kind == "or"
        if decisive in found:
            return decisive
        return None if not found or None in found else not decisive

    def comparisons(self) -> Iterator[Comparison]:
        """Every comparison in it."""
        if self.comparison is not None:
            yield self.comparison
        for part in self.parts:
            yield from part.comparisons()


UNKNOWN: Final = Condition("unknown")


@lru_cache(maxsize=4096)
def condition(text: str) -> Condition:
    """Read the Condition of a Choice's rule."""
    inside = expression(text)
    return UNKNOWN if inside is None else _condition(inside)


def _condition(text: str) -> Condition:
    text = _unwrapped(text.strip())
    for word in ("or", "and"):
        parts = _split(text, word)
        if len(parts) > 1:
            return Condition(word, tuple(map(_condition, parts)))
    if text.startswith("$not(") and _closes_last(text, len("$not")):
        return Condition("not", (_condition(text[len("$not(") : -1]),))
    found = _COMPARED.fullmatch(text)
    sides = (_side(found[1].strip()), _side(found[3].strip())) if found else (None, None)
    if found is None or sides[0] is None or sides[1] is None:
        return UNKNOWN
    return Condition("compare", comparison=Comparison(sides[0], found[2], sides[1]))


def _side(text: str) -> int | str | None:
    if _NUMBER.fullmatch(text):
        return int(text)
    if _IS_NOW.fullmatch(text):
        return ""
    found = _VARIABLE.fullmatch(text)
    return found[1] if found and found[1] != "states" else None


def _value(side: int | str, values: Values) -> int | None:
    return side if isinstance(side, int) else values.get(side)


def _unwrapped(text: str) -> str:
    while text.startswith("(") and _closes_last(text, 0):
        text = text[1:-1].strip()
    return text


def _closes_last(text: str, start: int) -> bool:
    """Whether the bracket at a place is closed by the text's last character, and not before."""
    depth = 0
    for position, character in _outside_strings(text):
        if position < start:
            continue
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return position == len(text) - 1
    return False


def _split(text: str, word: str) -> list[str]:
    """The parts between a word or sign that stands in no bracket and no string."""
    parts, depth, begun = [], 0, 0
    boundary = re.compile(rf"\b{word}\b" if word.isalpha() else re.escape(word))
    for position, character in _outside_strings(text):
        depth += (character in "([{") - (character in ")]}")
        before = text[position - 1 : position]
        if depth == 0 and position >= begun and before not in ("$", ".") and character == word[0]:
            found = boundary.match(text, position)
            if found:
                parts.append(text[begun:position])
                begun = found.end()
    return [*parts, text[begun:]]


def _outside_strings(text: str) -> Iterator[tuple[int, str]]:
    blanked = _STRING.sub(lambda found: "_" * len(found[0]), text)
    yield from enumerate(blanked)
