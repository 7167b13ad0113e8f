"""Values fit through a state: 256 KiB, as far as contracts bound them."""

from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from annotated_types import MaxLen
from pydantic import BaseModel

from autoops.domain.references import LARGE_BYTES, marker_of
from local.constants import PAYLOAD_BYTES
from local.verify.findings import Finding
from local.verify.machine import Machine
from local.verify.ways import way_to
from local.verify.world import World

REFERENCE: Final = 256
"""Bytes of a reference in JSON: its key has a tenant and a hash."""
CHARACTER: Final = 6
"""Bytes of a character in JSON at most: an escape."""
PLAIN: Final = {bool: 5, int: 20, float: 25, type(None): 4}


def sizes(world: World, machine: Machine) -> Iterator[Finding]:
    """Results of steps that may be larger than a state takes."""
    for state in machine.states():
        function = world.function(state)
        most = function.most_bytes if function else None
        if most is not None and most > PAYLOAD_BYTES:
            sentence = f"its result has up to {most:,} bytes, a state takes {PAYLOAD_BYTES:,}"
            yield Finding(machine.name, "data", way_to(machine, state), sentence)


def most_bytes(model: type[BaseModel]) -> int | None:
    """Bytes of a contract's JSON at most, None where a field has no bound."""
    sizes = [
        _of_field(model, name, info.annotation, info.metadata)
        for name, info in model.model_fields.items()
    ]
    names = sum(len(name) + len('"":,') for name in model.model_fields)
    return _sum([len("{}") + names, *sizes])


def _of_field(model: type[BaseModel], name: str, hint: Any, metadata: list[Any]) -> int | None:
    marker = marker_of(model, name)
    if marker is not None:
        return REFERENCE if marker.when == "always" else LARGE_BYTES
    return _of_hint(hint, metadata)


def _of_hint(hint: Any, metadata: list[Any]) -> int | None:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _of_hint(inner[0], [*metadata, *inner[1:]])
    if origin in (Union, type(int | None)):
        found = [_of_hint(part, metadata) for part in inner]
        return None if None in found else max(one for one in found if one is not None)
    if origin is Literal:
        return max(len(str(part)) for part in inner) * CHARACTER
    if origin in (tuple, list):
        return _times(_longest(metadata), _of_hint(inner[0], []))
    if not isinstance(hint, type):
        return None
    if issubclass(hint, BaseModel):
        return most_bytes(hint)
    if issubclass(hint, Enum):
        return max(len(str(one.value)) for one in hint) * CHARACTER
    return _times(_longest(metadata), CHARACTER) if hint is str else PLAIN.get(hint)


def _longest(metadata: list[Any]) -> int | None:
    marks = [m for mark in metadata for m in (mark, *getattr(mark, "metadata", ()))]
    return min((mark.max_length for mark in marks if isinstance(mark, MaxLen)), default=None)


def _times(count: int | None, each: int | None) -> int | None:
    return None if count is None or each is None else count * (each + 1) + 2


def _sum(parts: list[int | None]) -> int | None:
    return None if None in parts else sum(part for part in parts if part is not None)
