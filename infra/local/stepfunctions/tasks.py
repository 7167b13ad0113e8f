"""The seam between the engine and what runs tasks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from local.stepfunctions.jsontext import Json

if TYPE_CHECKING:
    from local.stepfunctions.engine import Engine


class TaskRequest(NamedTuple):
    """One task to run.

    Attributes:
        engine: the engine that asks, for tasks about executions.
        execution_arn: the execution that asks.
        task: the attempt's number within the execution.
        resource: the Resource of the Task state.
        arguments: what to call it with.
        token: the task token, None where the pattern has none.
        state: the state's name.
        attempt: how often the state was retried before.
        submitted: to be called with the service's answer as JSON text when the request was
            taken and the result comes later (`.sync`).
        redelivered: whether a killed engine may have delivered this task before.
    """

    engine: "Engine"
    execution_arn: str
    task: int
    resource: str
    arguments: Json
    token: str | None
    state: str
    attempt: int
    submitted: Callable[[str], None]
    redelivered: bool = False


class TaskRunner(Protocol):
    """Runs tasks."""

    async def run(self, request: TaskRequest) -> Json:
        """Run a task to its result, or to the service's answer where a token brings the result.

        Raises:
            StatesError: the task failed.
        """
        ...
