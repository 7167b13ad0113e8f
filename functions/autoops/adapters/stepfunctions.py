"""Step Functions, as a step sees it: it answers task tokens."""

from functools import cache
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from autoops.adapters.aws import client, error_code, translated
from autoops.domain.contracts import Json, to_json

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

GONE: Final = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})


class StepFunctions:
    """`autoops.ports.Workflows` on Step Functions."""

    def __init__(self, sfn: "SFNClient") -> None:
        self._sfn = sfn

    def succeed(self, token: str, output: Json) -> None:
        """See `Workflows.succeed`."""
        try:
            self._sfn.send_task_success(taskToken=token, output=to_json(output))
        except (ClientError, BotoCoreError) as error:
            if error_code(error) in GONE:
                return
            raise translated(error, "stepfunctions") from error


@cache
def workflows() -> StepFunctions:
    """Step Functions of this process."""
    return StepFunctions(client("stepfunctions"))
