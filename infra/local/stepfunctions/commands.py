"""What reaches an execution from outside, and what it asks of the world in return."""

from typing import NamedTuple

from local.stepfunctions.jsontext import Json
from local.stepfunctions.mapruns.spec import MapSpec


class Started(NamedTuple):
    """The execution begins."""


class TaskSubmitted(NamedTuple):
    """The service took the request of a task that is answered later (a token, `.sync`)."""

    task: int
    output: str


class TaskSucceeded(NamedTuple):
    """A task returned."""

    task: int
    output: Json


class TaskFailed(NamedTuple):
    """A task failed with an error name and a cause, each None where none was given."""

    task: int
    error: str | None
    cause: str | None


class TaskHeartbeat(NamedTuple):
    """The holder of a task's token is alive."""

    task: int


class WorkerStarted(NamedTuple):
    """A worker took an activity task."""

    task: int
    worker: str | None


class TimerFired(NamedTuple):
    """A moment the execution asked for has come."""

    timer: int


class Stopped(NamedTuple):
    """Somebody stopped the execution."""

    error: str | None
    cause: str | None


class Redriven(NamedTuple):
    """Somebody restarted a failed execution at the states that failed."""


Incoming = (
    Started
    | TaskSubmitted
    | TaskSucceeded
    | TaskFailed
    | TaskHeartbeat
    | WorkerStarted
    | TimerFired
    | Stopped
    | Redriven
)


class RunTask(NamedTuple):
    """Run a task and report what became of it under its number.

    Attributes:
        task: the number of this attempt within the execution.
        resource: the Resource as the state machine has it.
        arguments: what the task is called with.
        token: the task token, None where the pattern has none.
        state: the state's name.
        attempt: how often this state was retried before this attempt.
        timeout_seconds: the state's timeout, None for none.
    """

    task: int
    resource: str
    arguments: Json
    token: str | None
    state: str
    attempt: int
    timeout_seconds: float | None = None


class RunMap(NamedTuple):
    """Run the children of a Distributed Map and report under the number as for a task."""

    task: int
    spec: MapSpec


class CancelTask(NamedTuple):
    """Nobody waits for this task any more: stop what it started, where that can be stopped."""

    task: int
    token: str | None


class SetTimer(NamedTuple):
    """Report when this moment (milliseconds) has come."""

    timer: int
    due: int


class CancelTimer(NamedTuple):
    """Forget a timer."""

    timer: int


Command = RunTask | RunMap | CancelTask | SetTimer | CancelTimer
