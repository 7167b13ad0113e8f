"""Step Functions, as a step sees it: it answers task tokens and looks at executions."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from autoops.adapters.aws import client, error_code, translated
from autoops.domain.contracts import Json, to_json
from autoops.errors import InvalidInput

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

GOING: Final = frozenset({"RUNNING", "PENDING_REDRIVE"})
GONE: Final = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})


class StepFunctions:
    """`autoops.ports.Workflows` on Step Functions."""

    def __init__(self, sfn: "SFNClient") -> None:
        self._sfn = sfn

    def succeed(self, token: str, output: Json) -> bool:
        """See `Workflows.succeed`."""
        return self._answered(
            lambda: self._sfn.send_task_success(taskToken=token, output=to_json(output))
        )

    def fail(self, token: str, error: str, cause: str) -> bool:
        """See `Workflows.fail`."""
        return self._answered(
            lambda: self._sfn.send_task_failure(taskToken=token, error=error, cause=cause)
        )

    def redrive_running(self, execution: str) -> int | None:
        """See `Workflows.redrive_running`."""
        try:
            described = self._sfn.describe_execution(executionArn=execution)
        except (ClientError, BotoCoreError) as error:
            if error_code(error) == "ExecutionDoesNotExist":
                return None
            raise translated(error, "stepfunctions") from error
        if described["status"] not in GOING:
            return None
        return described.get("redriveCount", 0)

    def stop(self, execution: str, error: str, cause: str) -> None:
        """See `Workflows.stop`."""
        try:
            self._sfn.stop_execution(executionArn=execution, error=error, cause=cause)
        except (ClientError, BotoCoreError) as refused:
            if error_code(refused) != "ExecutionDoesNotExist":
                raise translated(refused, "stepfunctions") from refused

    def redrive(self, execution: str) -> None:
        """See `Workflows.redrive`."""
        try:
            self._sfn.redrive_execution(executionArn=execution)
        except (ClientError, BotoCoreError) as error:
            if error_code(error) == "ExecutionNotRedrivable":
                raise InvalidInput(
                    "run: its execution cannot be redriven; it has to have failed, timed out or"
                    " been stopped within 14 days"
                ) from error
            raise translated(error, "stepfunctions") from error

    def _answered(self, answer: Callable[[], object]) -> bool:
        try:
            answer()
        except (ClientError, BotoCoreError) as error:
            if error_code(error) in GONE:
                return False
            raise translated(error, "stepfunctions") from error
        return True


@cache
def workflows() -> StepFunctions:
    """Step Functions of this process."""
    return StepFunctions(client("stepfunctions"))
