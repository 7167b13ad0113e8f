"""What reaches an execution from outside, and what it asks of the world in return."""

from dataclasses import dataclass

from local.stepfunctions.jsontext import Json


@dataclass(frozen=True, slots=True)
class Started:
    """The execution begins."""


@dataclass(frozen=True, slots=True)
class TaskSubmitted:
    """The service took the request of a task that is answered later (a token, `.sync`)."""

    task: int
    output: str


@dataclass(frozen=True, slots=True)
class TaskSucceeded:
    """A task returned; `output` is JSON text."""

    task: int
    output: str


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A task failed with an error name and a cause, each None where none was given."""

    task: int
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class TaskHeartbeat:
    """The holder of a task's token is alive."""

    task: int


@dataclass(frozen=True, slots=True)
class WorkerStarted:
    """A worker took an activity task."""

    task: int
    worker: str | None


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A moment the execution asked for has come."""

    timer: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody stopped the execution."""

    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class Redriven:
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


@dataclass(frozen=True, slots=True)
class RunTask:
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


@dataclass(frozen=True, slots=True)
class CancelTask:
    """Nobody waits for this task any more: stop what it started, where that can be stopped."""

    task: int


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Report when this moment (milliseconds) has come."""

    timer: int
    due: int


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Forget a timer."""

    timer: int


Command = RunTask | CancelTask | SetTimer | CancelTimer
