"""Between JSON in a state machine and the arguments and answers of boto3."""

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from local.stepfunctions.errors import RUNTIME, StatesError
from local.stepfunctions.jsontext import JsonValue, dumps


def to_arguments(shape: Shape | None, value: JsonValue) -> dict[str, JsonValue]:
    """The keyword arguments of a boto3 call.

    Args:
        shape: the operation's input.
        value: the task's arguments.

    Raises:
        StatesError: the arguments are no object.
    """
    if not isinstance(value, dict):
        raise StatesError(RUNTIME, "The arguments of a task must be an object")
    return dict(_in(shape, value)) if shape is not None else {}


def to_output(shape: Shape | None, value: Mapping[str, Any]) -> dict[str, Any]:
    """A boto3 answer as JSON, keys in the upper camel case that Step Functions uses."""
    return dict(_out(shape, value))


def _in(shape: Shape, value: JsonValue) -> JsonValue:
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        members = {name.lower(): (name, member) for name, member in shape.members.items()}
        return {
            members[key.lower()][0]: _in(members[key.lower()][1], member)
            if key.lower() in members
            else member
            for key, member in value.items()
            if key.lower() in members
        }
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [_in(shape.member, member) for member in value]
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {key: _in(shape.value, member) for key, member in value.items()}
    if shape.type_name == "string" and not isinstance(value, str):
        return dumps(value)
    if shape.type_name == "blob" and not isinstance(value, str | bytes):
        return dumps(value)
    return value


def _out(shape: Shape | None, value: JsonValue) -> JsonValue:
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        members = shape.members
        return {_upper(key): _out(members.get(key), member) for key, member in value.items()}
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [_out(shape.member, member) for member in value]
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {key: _out(shape.value, member) for key, member in value.items()}
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "read"):
        return value.read().decode()
    return value


def _upper(key: str) -> str:
    return key[0].upper() + key[1:]
