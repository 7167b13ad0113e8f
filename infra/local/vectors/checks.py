"""What S3 Vectors refuses in a request."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from local.constants import VECTOR_FILTERABLE_BYTES, VECTOR_METADATA_BYTES
from local.rest import JsonObject
from local.vectors.errors import invalid
from local.vectors.index import IndexSettings

if TYPE_CHECKING:
    from local.vectors.index import Matrix

_KEY_CHARACTERS: Final = 1_024
_METADATA_KEYS: Final = 50


def whole_number(value: object, name: str, least: int, most: int) -> int:
    """Give a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise invalid(f"{name}: must be a whole number between {least} and {most}.")
    return value


def flag(request: JsonObject, name: str) -> bool:
    """Give an optional boolean, false by default."""
    value = request.get(name) or False
    if not isinstance(value, bool):
        raise invalid(f"{name}: must be true or false.")
    return value


def text(value: object, name: str, most: int) -> str:
    """Give a text of 1 to so many characters."""
    if not isinstance(value, str) or not 1 <= len(value) <= most:
        raise invalid(f"{name}: must be a text of 1 to {most} characters.")
    return value


def keys(value: object, most: int) -> list[str]:
    """Give a list of 1 to so many keys of vectors."""
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise invalid(f"keys: give 1 to {most} keys.")
    return [text(key, f"keys.{index}", _KEY_CHARACTERS) for index, key in enumerate(value)]


def vectors(records: Sequence[Any], settings: IndexSettings) -> tuple[list[str], "Matrix"]:
    """Give the keys and the checked rows of the records of a put; of equal keys the last counts.

    Raises:
        ServiceError: ValidationException, naming the key whose record is refused.
    """
    names = []
    for index, record in enumerate(records):
        if not isinstance(record, dict):
            raise invalid(f"vectors.{index}: must be an object.")
        names.append(text(record.get("key"), f"vectors.{index}.key", _KEY_CHARACTERS))
    data = [record.get("data") for record in records]
    return names, matrix(data, names, settings)


def matrix(data: Sequence[Any], names: Sequence[str], settings: IndexSettings) -> "Matrix":
    """Give vectors as rows of float32.

    Raises:
        ServiceError: ValidationException for another dimension, NaN, infinity, or zero with cosine.
    """
    import numpy as np

    rows = [
        _numbers(item, name, settings.dimension) for item, name in zip(data, names, strict=True)
    ]
    try:
        with np.errstate(over="ignore"):
            made = np.array(rows, dtype=np.float64).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise invalid("Invalid vector data: float32 must hold numbers only.") from error
    infinite = np.flatnonzero(~np.isfinite(made).all(axis=1))
    if len(infinite):
        raise _bad(names[infinite[0]], "vector data must not contain NaN or infinity")
    zero = np.flatnonzero(~made.any(axis=1))
    if settings.metric == "cosine" and len(zero):
        raise _bad(names[zero[0]], "zero vectors are not allowed with the cosine distance metric")
    return made


def _numbers(data: Any, name: str, dimension: int) -> list[Any]:
    numbers = data.get("float32") if isinstance(data, dict) else None
    if not isinstance(numbers, list):
        raise _bad(name, "vector data must be given as float32")
    if len(numbers) != dimension:
        raise _bad(name, f"vector must have length {dimension}, but has length {len(numbers)}")
    return numbers


def _bad(name: str, rule: str) -> Exception:
    return invalid(f"Invalid record for key '{name}': {rule}.")


def metadata(record: JsonObject, settings: IndexSettings) -> JsonObject:
    """Give the checked metadata of a record.

    Raises:
        ServiceError: ValidationException for too much of it or a value of another kind.
    """
    about = record.get("metadata")
    if about is None:
        return {}
    name = record["key"]
    if not isinstance(about, dict) or len(about) > _METADATA_KEYS:
        raise _bad(name, f"metadata must be an object of at most {_METADATA_KEYS} keys")
    for key, value in about.items():
        if not _is_plain(value):
            raise _bad(name, f"metadata {key} must be text, number, boolean or a list of these")
    if _bytes(about) > VECTOR_METADATA_BYTES:
        raise _bad(name, f"total metadata size must be at most {VECTOR_METADATA_BYTES} bytes")
    filterable = {key: value for key, value in about.items() if key not in settings.not_filterable}
    if _bytes(filterable) > VECTOR_FILTERABLE_BYTES:
        raise _bad(name, f"filterable metadata must have at most {VECTOR_FILTERABLE_BYTES} bytes")
    return about


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str | int | float) for item in value)
    return isinstance(value, str | int | float)


def _bytes(document: JsonObject) -> int:
    told = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return len(told.encode("utf-8", "surrogatepass"))
