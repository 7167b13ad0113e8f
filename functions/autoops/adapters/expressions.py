"""DynamoDB writes as plain data; every attribute name is aliased, so reserved words do no harm."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

Item = Mapping[str, Any]
"""Attributes in DynamoDB's typed JSON."""

_NAME = re.compile(r"#(\w+)")


def put(key: Item, attributes: Mapping[str, Any], when: str = "", **values: object) -> Item:
    """A Put of the attributes under the key, on a condition."""
    item = {**key, **{name: typed(value) for name, value in attributes.items()}}
    return {"Put": {"Item": item, **_expressions("", when, values)}}


def update(key: Item, change: str, when: str = "attribute_exists(PK)", **values: object) -> Item:
    """An Update by expression, on a condition; `#name` and `:name` are filled from `values`."""
    expressions = _expressions(change, when, values)
    return {"Update": {"Key": key, "UpdateExpression": change, **expressions}}


def condition(key: Item, when: str, **values: object) -> Item:
    """A ConditionCheck."""
    return {"ConditionCheck": {"Key": key, **_expressions("", when, values)}}


def delete(key: Item) -> Item:
    """A Delete, whether or not the item is there."""
    return {"Delete": {"Key": key}}


def get(key: Item) -> Item:
    """A consistent GetItem."""
    return {"Key": key, "ConsistentRead": True}


def typed(value: object) -> Item:
    """A value in DynamoDB's typed JSON: whole numbers, text, truth, None, lists of these.

    Raises:
        TypeError: any other type; floats and sets never reach a table.
    """
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, str):
        return {"S": str(value)}
    if isinstance(value, list):
        return {"L": [typed(item) for item in value]}
    raise TypeError(f"a {type(value).__name__} does not go into the table")


def value_of(item: Item, name: str) -> Any:
    """The attribute's plain value; the types of `typed` come back as they went in."""
    return _plain(item[name])


def _plain(typed_value: Item) -> Any:
    kind, value = next(iter(typed_value.items()))
    if kind == "N":
        return int(Decimal(value))
    if kind == "NULL":
        return None
    if kind == "L":
        return [_plain(item) for item in value]
    return value


def _expressions(change: str, when: str, values: Mapping[str, object]) -> Item:
    names = sorted(set(_NAME.findall(f"{change} {when}")))
    expressions: dict[str, Any] = {}
    if when:
        expressions["ConditionExpression"] = when
        expressions["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    if names:
        expressions["ExpressionAttributeNames"] = {f"#{name}": name for name in names}
    if values:
        expressions["ExpressionAttributeValues"] = {
            f":{name}": typed(value) for name, value in values.items()
        }
    return expressions
