"""Errors of the engine: what ends a state, and what the API refuses."""

from typing import Final

from local.constants import CAUSE_CHARACTERS, ERROR_CHARACTERS

ALL: Final = "States.ALL"
DATA_LIMIT: Final = "States.DataLimitExceeded"
HEARTBEAT: Final = "States.HeartbeatTimeout"
NO_CHOICE: Final = "States.NoChoiceMatched"
QUERY: Final = "States.QueryEvaluationError"
RUNTIME: Final = "States.Runtime"
TASK_FAILED: Final = "States.TaskFailed"
TIMEOUT: Final = "States.Timeout"


class StatesError(Exception):
    """A state ended with an error that Retry and Catch may match.

    Attributes:
        error: the name that ErrorEquals matches; None where AWS records none.
        cause: AWS's sentence or the failed task's JSON, or None.
    """

    def __init__(self, error: str | None, cause: str | None = None) -> None:
        super().__init__(f"{error}: {cause}")
        self.error = None if error is None else error[:ERROR_CHARACTERS]
        self.cause = None if cause is None else cause[:CAUSE_CHARACTERS]

    def output(self) -> dict[str, str | None]:
        """The error output as `$states.errorOutput` and the default output of a Catch."""
        output: dict[str, str | None] = {"Error": self.error or ""}
        if self.cause is not None:
            output["Cause"] = self.cause
        return output


class EvaluationError(StatesError):
    """An expression, or what it returned, was refused; recorded as an EvaluationFailed event.

    Attributes:
        location: the field inside the state, such as "Output/result"; None where AWS names none.
        after_entry: whether the event follows the state's entry in the chain of previous ids.
    """

    def __init__(self, cause: str, location: str | None, *, after_entry: bool = False) -> None:
        super().__init__(QUERY, cause)
        self.location = location
        self.after_entry = after_entry


class EngineKilledError(BaseException):
    """The engine is dead: nothing after this point happens. No handler may catch it."""


class ApiError(Exception):
    """The API refused a call.

    Attributes:
        code: AWS's error code, such as "ExecutionDoesNotExist".
        message: AWS's sentence.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
