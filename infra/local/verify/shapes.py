"""What is known of the values that steps take and give: fields, bounds, and what stays shut."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Union, get_args, get_origin

from annotated_types import Le, Lt, MaxLen
from pydantic import BaseModel

from autoops.domain.contracts import PerRedrive
from autoops.domain.references import marker_of
from autoops.domain.workflows import Start


@dataclass(frozen=True)
class Shape:
    """What is known of a value.

    Attributes:
        fields: of its fields (for a list, those of its items), None when not known.
        required: names of the fields that have to be there.
        shut: it travels by reference; nothing in a machine looks into it.
        most: largest number, or longest list or text, that its contract takes; None for no bound.
    """

    fields: Mapping[str, "Shape"] | None = None
    required: frozenset[str] = field(default_factory=frozenset)
    shut: bool = False
    most: int | None = None


ANYTHING: Final = Shape()
START: Final = Shape(most=-1)
"""Stands where a contract says `Start`: each workflow has a start of its own."""


def shape_of(model: type[BaseModel]) -> Shape:
    """The shape of a contract as it stands in a payload."""
    return Shape(
        fields={
            name: _of_field(model, name, info.annotation, info.metadata)
            for name, info in model.model_fields.items()
        },
        required=frozenset(n for n, info in model.model_fields.items() if info.is_required()),
    )


def _of_field(model: type[BaseModel], name: str, hint: Any, metadata: list[Any]) -> Shape:
    most = min((*_bounds(metadata), *_bounds_of_hint(hint)), default=None)
    if marker_of(model, name):
        return Shape(shut=True, most=most)
    found = _of_hint(hint)
    return found if found is START else Shape(found.fields, found.required, most=most)


def _of_hint(hint: Any) -> Shape:
    if hint is Start:
        return START
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return shape_of(hint)
    if get_origin(hint) is Annotated:
        return _of_hint(get_args(hint)[0])
    inner = [part for part in get_args(hint) if part not in (type(None), Ellipsis)]
    holds_items = get_origin(hint) in (tuple, list, Union, type(int | None))
    return _of_hint(inner[0]) if holds_items and len(inner) == 1 else ANYTHING


def _bounds_of_hint(hint: Any) -> Iterator[int]:
    if get_origin(hint) is Annotated:
        yield from _bounds(get_args(hint)[1:])
    elif get_origin(hint) in (Union, type(int | None)):
        for part in get_args(hint):
            yield from _bounds_of_hint(part)


def _bounds(metadata: Any) -> Iterator[int]:
    for mark in metadata:
        yield from _bounds(getattr(mark, "metadata", ()))
        if isinstance(mark, MaxLen):
            yield mark.max_length
        elif isinstance(mark, Le):
            yield int(mark.le)  # type: ignore[call-overload]  # a number
        elif isinstance(mark, Lt):
            yield int(mark.lt) - 1  # type: ignore[call-overload]  # a number
        elif isinstance(mark, PerRedrive):
            yield mark.most
