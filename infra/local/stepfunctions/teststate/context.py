"""The context object that a caller of TestState may give."""

import json
from typing import Any, Final

from local.stepfunctions.errors import ApiError

_FIELDS: Final = {
    "Execution": ("Id", "Input", "Name", "RoleArn", "StartTime", "RedriveCount", "RedriveTime"),
    "State": ("Name", "EnteredTime", "RetryCount"),
    "StateMachine": ("Id", "Name"),
    "Map": ("Item",),
    "Task": ("Token",),
}
_NO_TEXT: Final = ("Input", "RetryCount", "RedriveCount", "Item")


def read_context(text: str | None, state: dict[str, Any]) -> dict[str, Any]:
    """The context object, empty when none was given.

    Args:
        text: the parameter.
        state: the state that is tested.

    Raises:
        ApiError: ValidationException.
    """
    if text is None:
        return {}
    try:
        context = json.loads(text)
    except ValueError as problem:
        raise _refused(f"it is not JSON: {problem}") from problem
    if not isinstance(context, dict):
        raise _refused("it must be an object")
    for name, fields in context.items():
        if name not in _FIELDS:
            raise _refused(f"Field '{name}' is not allowed")
        _check_fields(name, fields)
    if "Task" in context:
        _check_task(state)
    return context


def _check_fields(name: str, fields: dict[str, Any]) -> None:
    for field, value in fields.items():
        if field not in _FIELDS[name]:
            raise _refused(f"Field '{field}' is not allowed")
        if field not in _NO_TEXT and not isinstance(value, str):
            raise _refused(f"{name}.{field} must be a string")


def _check_task(state: dict[str, Any]) -> None:
    resource = str(state.get("Resource", ""))
    if state.get("Type") != "Task" or not resource.endswith(
        (".waitForTaskToken", ".sync", ".sync:2")
    ):
        raise _refused(
            "Context object contains 'Task' when state is not a Task state with a '.sync' or"
            " '.waitForTaskToken' service integration pattern"
        )


def _refused(why: str) -> ApiError:
    return ApiError("ValidationException", f"Invalid Context object provided: {why}")
