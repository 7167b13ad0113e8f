"""The error objects and refusals of Lambda itself, as they reach a caller."""

import json
import signal
from typing import Final

from local.constants import LAMBDA_SYNC_BYTES
from local.invoke import InvokeRefusedError, InvokeResult

UNHANDLED: Final = "Unhandled"
# Lambda lets a response be a little larger than a request; the figure is in its error message.
RESPONSE_BYTES: Final = LAMBDA_SYNC_BYTES + 100
# Go's words for signals, because Lambda's supervisor is written in Go.
SIGNALS: Final = {
    signal.SIGKILL: "killed",
    signal.SIGTERM: "terminated",
    signal.SIGSEGV: "segmentation fault",
    signal.SIGABRT: "aborted",
    signal.SIGINT: "interrupt",
    signal.SIGHUP: "hangup",
    signal.SIGBUS: "bus error",
}


class InitFailedError(Exception):
    """A worker ended, or reported an error, before it took an invocation.

    Attributes:
        payload: the error object that it reported, None when it just ended.
        exit_code: how it ended; a negative code is the signal.
    """

    def __init__(self, payload: bytes | None, exit_code: int) -> None:
        super().__init__("The function did not initialise.")
        self.payload = payload
        self.exit_code = exit_code

    def result(self, request_id: str, version: str) -> InvokeResult:
        """What the invocation that needed the worker answers."""
        if self.payload is not None:
            return failed(self.payload, version)
        return exited(request_id, self.exit_code, version)


def failed(payload: bytes, version: str) -> InvokeResult:
    """An invocation whose function reported an error object."""
    return InvokeResult(200, payload, UNHANDLED, version)


def error_object(kind: str, message: str) -> bytes:
    """The error object of a failure that the function could not report itself."""
    return json.dumps(
        {"errorType": kind, "errorMessage": message}, separators=(",", ":"), ensure_ascii=False
    ).encode()


def timed_out(request_id: str, seconds: float, version: str) -> InvokeResult:
    """The function did not answer in time."""
    message = f"RequestId: {request_id} Error: Task timed out after {seconds:.2f} seconds"
    return failed(error_object("Sandbox.Timedout", message), version)


def exited(request_id: str, exit_code: int, version: str) -> InvokeResult:
    """The function's process ended instead of answering."""
    if exit_code == 0:
        reason = "Runtime exited without providing a reason"
    elif exit_code > 0:
        reason = f"Runtime exited with error: exit status {exit_code}"
    else:
        reason = f"Runtime exited with error: signal: {signal_name(-exit_code)}"
    return failed(
        error_object("Runtime.ExitError", f"RequestId: {request_id} Error: {reason}"), version
    )


def signal_name(number: int) -> str:
    """A signal in Go's words."""
    return next((name for known, name in SIGNALS.items() if known == number), str(number))


def response_too_large(size: int, version: str) -> InvokeResult:
    """The function answered more than Lambda passes on."""
    message = (
        f"Response payload size ({size} bytes) exceeded maximum allowed payload size "
        f"({RESPONSE_BYTES} bytes)."
    )
    return failed(error_object("Function.ResponseSizeTooLarge", message), version)


def function_not_found(arn: str) -> InvokeRefusedError:
    """No such function."""
    return InvokeRefusedError("Lambda.ResourceNotFoundException", f"Function not found: {arn}")


def too_many_requests() -> InvokeRefusedError:
    """The function's concurrency is used up."""
    return InvokeRefusedError("Lambda.TooManyRequestsException", "Rate Exceeded.")


def request_too_large(limit: int, operation: str) -> InvokeRefusedError:
    """The payload is larger than Lambda takes."""
    return InvokeRefusedError(
        "Lambda.RequestTooLargeException",
        f"Request must be smaller than {limit} bytes for the {operation} operation",
    )


def not_json(problem: str) -> InvokeRefusedError:
    """The payload is no JSON text."""
    return InvokeRefusedError(
        "Lambda.InvalidRequestContentException",
        f"Could not parse request body into json: {problem}",
    )


def stopping() -> InvokeRefusedError:
    """The stack is going down."""
    return InvokeRefusedError("Lambda.ServiceException", "The local Lambda is stopping.")
