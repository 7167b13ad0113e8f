"""What the Step Functions engine asks of Lambda: worker processes or in-process handlers answer."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class InvokeResult:
    """The answer to one invocation, as Lambda's Invoke gives it.

    Attributes:
        status_code: HTTP status of the answer, 200 for a synchronous invocation, 202 for an event.
        payload: JSON text; with `function_error` an object of errorMessage, errorType, requestId
            and stackTrace.
        function_error: "Unhandled" when the function failed, None when it returned.
        executed_version: "$LATEST" or the number of the version that ran.
    """

    status_code: int
    payload: bytes
    function_error: str | None = None
    executed_version: str = "$LATEST"


class InvokeRefusedError(Exception):
    """Lambda itself refused the invocation; the function never ran.

    Attributes:
        error: the name Step Functions matches, such as "Lambda.TooManyRequestsException".
        cause: the service's sentence.
    """

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error
        self.cause = cause


class LambdaInvoker(Protocol):
    """Runs a Lambda function by ARN, name, version ARN or alias ARN."""

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        """Run the function with a JSON payload.

        Raises:
            InvokeRefusedError: the service refused; the function did not run.
        """
        ...
