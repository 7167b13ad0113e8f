"""What expressions read: variables, and paths into values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from local.verify.expressions import expression
from local.verify.machine import State

Json = Any
_STRINGS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_PATH: Final = re.compile(r"\$([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)(?![\w(])(?!\s*(?:\(|:=))")
_BOUND: Final = re.compile(r"\$([A-Za-z_]\w*)\s*:=")
_PARAMETERS: Final = re.compile(r"(?:function|λ)\s*\(([^)]*)\)")
_INNER: Final = ("Branches", "ItemProcessor", "Iterator", "Comment")


@dataclass(frozen=True)
class Read:
    """A path in an expression, such as `$states.result.Payload.found`.

    Attributes:
        expression: the whole text.
        variable: its first name.
        fields: the names after it.
    """

    expression: str
    variable: str
    fields: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path as it is written."""
        return "$" + ".".join((self.variable, *self.fields))

    @property
    def is_all(self) -> bool:
        """Whether the expression is nothing but this path."""
        return self.expression == self.path


def reads_of(state: State) -> Iterator[Read]:
    """Every path that a state's own fields read; what is inside its programs is not its own."""
    for name, value in state.body.items():
        if name not in _INNER:
            yield from reads_in(value)


def reads_in(value: Json) -> Iterator[Read]:
    """Every path in the expressions of a value; names bound in an expression are left out."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from reads_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from reads_in(part)
    else:
        text = expression(value)
        yield from _reads(text) if text is not None else ()


def path_of(value: Json) -> Read | None:
    """The path that is all there is in an expression, None for anything else."""
    return next((read for read in reads_in(value) if read.is_all), None)


def _reads(text: str) -> Iterator[Read]:
    bare = _STRINGS.sub(lambda found: " " * len(found[0]), text)
    own = set(_BOUND.findall(bare))
    for parameters in _PARAMETERS.findall(bare):
        own |= set(re.findall(r"\$(\w+)", parameters))
    for found in _PATH.finditer(bare):
        if found[1] not in own:
            yield Read(text, found[1], tuple(found[2].split(".")[1:]))
