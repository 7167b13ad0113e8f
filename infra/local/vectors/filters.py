"""Metadata filters of QueryVectors: {"$and": [{"tenant": "a"}, {"year": {"$gte": 2020}}]}."""

import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from local.vectors.errors import invalid

Metadata = Mapping[str, Any]
Matches = Callable[[Metadata], bool]

_MISSING: Final = object()


def compile_filter(document: object, not_filterable: Collection[str]) -> Matches:
    """Give a function that tells whether a vector's metadata passes.

    Raises:
        ServiceError: ValidationException, the filter is malformed or names a key that the index
            does not filter by.
    """
    if not isinstance(document, dict) or not document:
        raise invalid("Invalid filter: it must be an object with at least one condition.")
    parts = [_condition(key, value, not_filterable) for key, value in document.items()]
    return lambda metadata: all(part(metadata) for part in parts)


def _condition(key: str, value: object, not_filterable: Collection[str]) -> Matches:
    if key in {"$and", "$or"}:
        return _junction(key, value, not_filterable)
    if key.startswith("$"):
        raise invalid(f"Invalid filter: unknown operator {key}.")
    if key in not_filterable:
        raise invalid(f"Invalid filter: {key} is a non-filterable metadata key of this index.")
    if not isinstance(value, dict):
        return _comparison(key, "$eq", value)
    if not value:
        raise invalid(f"Invalid filter: no operator for {key}.")
    parts = [_comparison(key, name, operand) for name, operand in value.items()]
    return lambda metadata: all(part(metadata) for part in parts)


def _junction(key: str, value: object, not_filterable: Collection[str]) -> Matches:
    if not isinstance(value, list) or not value:
        raise invalid(f"Invalid filter: {key} takes a list with at least one filter.")
    parts = [compile_filter(part, not_filterable) for part in value]
    join = all if key == "$and" else any
    return lambda metadata: join(part(metadata) for part in parts)


def _comparison(key: str, name: str, operand: object) -> Matches:
    if name == "$exists":
        if not isinstance(operand, bool):
            raise invalid("Invalid filter: $exists takes true or false.")
        return lambda metadata: (key in metadata) is operand
    if name in {"$in", "$nin"}:
        return _membership(key, name, operand)
    if name in {"$eq", "$ne"}:
        wanted = _scalar(name, operand)
        return lambda metadata: _equals(metadata.get(key, _MISSING), wanted) is (name == "$eq")
    if name in _ORDER:
        return _ordering(key, name, operand)
    raise invalid(f"Invalid filter: unknown operator {name}.")


_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def _membership(key: str, name: str, operand: object) -> Matches:
    if not isinstance(operand, list) or not operand:
        raise invalid(f"Invalid filter: {name} takes a list with at least one value.")
    wanted = [_scalar(name, item) for item in operand]

    def matches(metadata: Metadata) -> bool:
        value = metadata.get(key, _MISSING)
        return any(_equals(value, item) for item in wanted) is (name == "$in")

    return matches


def _ordering(key: str, name: str, operand: object) -> Matches:
    if isinstance(operand, bool) or not isinstance(operand, int | float):
        raise invalid(f"Invalid filter: {name} takes a number.")
    compare = _ORDER[name]

    def matches(metadata: Metadata) -> bool:
        value = metadata.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and compare(value, operand)

    return matches


def _scalar(name: str, value: object) -> object:
    if not isinstance(value, str | int | float | bool):
        raise invalid(f"Invalid filter: {name} takes a string, a number, true or false.")
    return value


def _equals(value: object, wanted: object) -> bool:
    """Compare as S3 Vectors does: a list equals each of its items; true is no number."""
    if isinstance(value, list):
        return any(_equals(item, wanted) for item in value)
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted
