"""Task tokens: who holds one may answer its task once."""

from collections.abc import Callable
from typing import Final

from local.constants import CAUSE_CHARACTERS, ERROR_CHARACTERS, PAYLOAD_BYTES
from local.stepfunctions.commands import Incoming, TaskFailed, TaskHeartbeat, TaskSucceeded
from local.stepfunctions.driver import Driver
from local.stepfunctions.errors import ApiError
from local.stepfunctions.jsontext import Json
from local.stepfunctions.live import Live
from local.stepfunctions.run import token_owner

_GONE: Final = "Task Timed Out: 'Provided task does not exist anymore'"


class Callbacks:
    """Answers that come by token.

    Args:
        driver: who moves executions on.
        exists: whether there is an execution of an ARN.
    """

    def __init__(self, driver: Driver, exists: Callable[[str], bool]) -> None:
        self._driver = driver
        self._exists = exists

    def succeed(self, token: str, output: str) -> None:
        """Give a waiting task its result.

        Raises:
            ApiError: InvalidToken, TaskTimedOut, InvalidOutput.
        """
        try:
            result = Json.parse(output)
        except ValueError as problem:
            raise ApiError("InvalidOutput", f"Invalid Output: '{problem}'") from problem
        if result.exceeds(PAYLOAD_BYTES):
            raise ApiError("InvalidOutput", "Invalid Output: 'Output exceeds the size limit'")
        live, task = self._waiting(token)
        self._answer(token, live, TaskSucceeded(task, result))

    def fail(self, token: str, error: str | None, cause: str | None) -> None:
        """Fail a waiting task.

        Raises:
            ApiError: InvalidToken, TaskTimedOut, ValidationException.
        """
        _check_length(error, "error", ERROR_CHARACTERS)
        _check_length(cause, "cause", CAUSE_CHARACTERS)
        live, task = self._waiting(token)
        self._answer(token, live, TaskFailed(task, error, cause))

    def beat(self, token: str) -> None:
        """Say that a waiting task is still being worked on.

        Raises:
            ApiError: InvalidToken, TaskTimedOut.
        """
        live, task = self._waiting(token)
        self._driver.post(live, TaskHeartbeat(task))
        self._driver.pump()

    def _answer(self, token: str, live: Live, incoming: Incoming) -> None:
        self._driver.forget_token(token)
        self._driver.post(live, incoming)
        self._driver.pump()

    def _waiting(self, token: str) -> tuple[Live, int]:
        # What happened already counts first: a timeout that is due must not swallow an answer.
        self._driver.pump()
        found = self._driver.tokens.get(token)
        if found is not None:
            live, task = found
            if task in live.run.tasks:
                return live, task
            self._driver.forget_token(token)
            raise ApiError("TaskTimedOut", _GONE)
        owner = token_owner(token)
        if owner is None or not self._exists(owner):
            raise ApiError("InvalidToken", "Invalid Token: 'Invalid token'")
        raise ApiError("TaskTimedOut", _GONE)


def _check_length(text: str | None, name: str, most: int) -> None:
    if text is not None and len(text) > most:
        sentence = (
            f"1 validation error detected: Value at '{name}' failed to satisfy constraint:"
            f" Member must have length less than or equal to {most}"
        )
        raise ApiError("ValidationException", sentence)
