"""The functions Step Functions adds to JSONata, and the built-in ones that follow the engine.

Each is a plain function of its arguments and of the `Ambience` of the evaluation: the moment
and the randomness of the execution that evaluates.
"""

import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from local.stepfunctions.clock import iso
from local.stepfunctions.jsonata_library import library
from local.stepfunctions.jsontext import JsonValue, loads

_ALGORITHMS: Final = {
    "MD5": hashlib.md5,
    "SHA-1": hashlib.sha1,
    "SHA-256": hashlib.sha256,
    "SHA-384": hashlib.sha384,
    "SHA-512": hashlib.sha512,
}
_LONGEST_RANGE: Final = 1000
_MOMENT: Final = "$fromMillis($moment, $picture, $zone)"


@dataclass(slots=True)
class Ambience:
    """What an evaluation may know besides its bindings.

    Attributes:
        moment: the engine's time in milliseconds.
        random: the randomness of this execution, or a function that makes it when first used.
    """

    moment: int
    random: Callable[[], Random]


def now(ambience: Ambience, picture: str | None = None, zone: str | None = None) -> str:
    """The engine's time as ISO 8601 with milliseconds, or by a picture and a time zone."""
    if picture is None:
        return iso(ambience.moment)
    bindings: dict[str, object] = {"moment": ambience.moment, "picture": picture}
    if zone is not None:
        bindings["zone"] = zone
    compiled = library.find(_MOMENT) or library.compile(_MOMENT)
    return str(compiled.evaluate(None, bindings, None, None, None))


def millis(ambience: Ambience) -> int:
    """The engine's time in milliseconds since 1970."""
    return ambience.moment


def random(ambience: Ambience, seed: float | None = None) -> float:
    """A number from 0 up to 1; the same for the same seed."""
    if seed is None:
        return ambience.random().random()
    return Random(seed).random()  # noqa: S311 - $random is not for secrets


def make_uuid(ambience: Ambience) -> str:
    """A version 4 UUID."""
    return str(uuid.UUID(int=ambience.random().getrandbits(128), version=4))


def partition(_: Ambience, items: JsonValue = None, size: float = 0) -> list[JsonValue]:
    """The list cut into lists of `size` items; the last may be shorter."""
    step = round(size)
    if step < 1:
        raise ValueError("D3050: The second argument of $partition must be a positive number")
    if not isinstance(items, list):
        items = [] if items is None else [items]
    return [items[start : start + step] for start in range(0, len(items), step)]


def make_range(_: Ambience, first: float, last: float, step: float) -> JsonValue:
    """The numbers from `first` to `last`, both included; a single one stands for itself."""
    delta = round(step)
    if delta == 0:
        raise ValueError("D3050: The third argument of $range must not be zero")
    end = round(last) + (1 if delta > 0 else -1)
    numbers = range(round(first), end, delta)
    if len(numbers) > _LONGEST_RANGE:
        raise ValueError("D2014: The size of the sequence allocated by $range exceeds 1000")
    return numbers[0] if len(numbers) == 1 else list(numbers)


def make_hash(_: Ambience, text: JsonValue = None, algorithm: str | None = None) -> str:
    """The digest of a text as lower-case hexadecimal digits."""
    if not isinstance(text, str):
        raise ValueError("T0410: Argument 1 of function $hash does not match function signature")  # noqa: TRY004 - JSONata's error, not Python's
    if algorithm not in _ALGORITHMS:
        names = ", ".join(_ALGORITHMS)
        raise ValueError(f"D3050: The algorithm of $hash must be one of {names}")
    return _ALGORITHMS[algorithm](text.encode()).hexdigest()


def parse(_: Ambience, text: JsonValue = None) -> JsonValue:
    """The value that a JSON text means."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError("T0410: Argument 1 of function $parse does not match function signature")  # noqa: TRY004 - JSONata's error, not Python's
    try:
        value = loads(text)
    except ValueError as problem:
        raise ValueError(f"D3121: Unable to parse JSON: {problem}") from problem
    return 0 if value == 0 and not isinstance(value, bool) else value


def refuse_eval(_: Ambience, *__: object) -> JsonValue:
    """AWS does not have $eval."""
    raise ValueError("T1006: Attempted to invoke a non-function")


ADDED: Final[Mapping[str, Callable[..., Any]]] = {
    "hash": make_hash,
    "parse": parse,
    "partition": partition,
    "random": random,
    "range": make_range,
    "uuid": make_uuid,
}
REPLACED: Final[Mapping[str, Callable[..., Any]]] = {
    "eval": refuse_eval,
    "millis": millis,
    "now": now,
    "random": random,
}
