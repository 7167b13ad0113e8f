"""Operations by which a task's holder answers it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from local.stepfunctions.engine import Engine


def succeed(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """SendTaskSuccess."""
    engine.send_task_success(params["taskToken"], params["output"])
    return {}


def fail(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """SendTaskFailure."""
    engine.send_task_failure(params["taskToken"], params.get("error"), params.get("cause"))
    return {}


def beat(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """SendTaskHeartbeat."""
    engine.send_task_heartbeat(params["taskToken"])
    return {}


OPERATIONS: Final[Mapping[str, Callable[[Engine, Mapping[str, Any]], Any]]] = {
    "SendTaskFailure": fail,
    "SendTaskHeartbeat": beat,
    "SendTaskSuccess": succeed,
}
