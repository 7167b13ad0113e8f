"""Whether a mocked result has the shape of the service's real answer."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from botocore.model import ListShape, MapShape, Shape, StructureShape
from botocore.session import Session

from local.stepfunctions.errors import ApiError
from local.stepfunctions.integrations.service_names import boto_name
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.states.task_events import split_integration

_TYPES: Final[Mapping[str, tuple[type | tuple[type, ...], str]]] = {
    "structure": (dict, "an object"),
    "map": (dict, "an object"),
    "list": (list, "an array"),
    "string": (str, "a string"),
    "timestamp": (str, "a string"),
    "blob": (str, "a string"),
    "boolean": (bool, "a boolean"),
    "integer": ((int, float), "a number"),
    "long": ((int, float), "a number"),
    "float": ((int, float), "a number"),
    "double": ((int, float), "a number"),
}


def check_mock(resource: str, result: JsonValue, mode: str) -> None:
    """Accept a mocked result.

    Args:
        resource: the Resource of the Task.
        result: the mocked result.
        mode: STRICT (required members must be there), PRESENT (what is there must fit) or NONE.

    Raises:
        ApiError: ValidationException with the first member that does not fit.
    """
    if mode == "NONE" or not resource.startswith("arn:aws:states:::"):
        return
    service, action = split_integration(resource)
    action = action.partition(".")[0]
    shape = _output_shape(service, action)
    problem = next(_problems(shape, result, "", strict=mode == "STRICT"), None)
    if problem is not None:
        sentence = f"Mock result schema validation error: {problem}"
        raise ApiError("ValidationException", sentence)


@cache
def _output_shape(service: str, action: str) -> Shape | None:
    name = boto_name(service, action)
    if name is None:
        return None
    model = Session().get_service_model(name)
    operation = action[0].upper() + action[1:]
    if operation not in model.operation_names:
        return None
    shape: Shape | None = model.operation_model(operation).output_shape
    return shape


def _problems(shape: Shape | None, value: JsonValue, name: str, *, strict: bool) -> Iterator[str]:
    if shape is None or value is None or name == "Payload":
        # Lambda's payload is a blob to the SDK and JSON to Step Functions.
        return
    kind, word = _TYPES.get(shape.type_name, ((), ""))
    if (kind and not _is(value, kind)) or (word == "a number" and isinstance(value, bool)):
        yield f"Field '{name}' must be {word}"
        return
    if isinstance(shape, StructureShape):
        yield from _members(shape, value, strict=strict)
    elif isinstance(shape, ListShape | MapShape):
        inner = shape.member if isinstance(shape, ListShape) else shape.value
        for member in value if isinstance(value, list) else value.values():
            yield from _problems(inner, member, name, strict=strict)
    else:
        yield from _limits(shape, value, name)


def _is(value: JsonValue, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind)


def _members(shape: StructureShape, value: dict[str, Any], *, strict: bool) -> Iterator[str]:
    members = {name[0].upper() + name[1:]: member for name, member in shape.members.items()}
    if strict:
        for required in shape.required_members:
            key = required[0].upper() + required[1:]
            if key not in value:
                yield f"Required field '{key}' is missing"
    for key, member in value.items():
        yield from _problems(members.get(key), member, key, strict=strict)


def _limits(shape: Shape, value: JsonValue, name: str) -> Iterator[str]:
    allowed = shape.metadata.get("enum")
    if allowed and value not in allowed:
        yield f"Field '{name}' is not an expected value"
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if isinstance(value, str):
        if low is not None and len(value) < low:
            yield f"Field '{name}' is smaller than the minimum length"
        return
    if low is not None and value < low:
        yield f"Field '{name}' is less than the minimum value"
    if high is not None and value > high:
        yield f"Field '{name}' exceeds the maximum value"
