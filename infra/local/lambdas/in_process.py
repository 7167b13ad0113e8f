"""Lambda without processes: handlers as Python functions, for whole machines in virtual time."""

import inspect
import json
import traceback
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from awslambdaric.lambda_runtime_marshaller import (  # type: ignore[import-untyped]  # it has no types
    Encoder,
)

from local.constants import ACCOUNT, LAMBDA_ASYNC_BYTES, LAMBDA_SYNC_BYTES, PARTITION, REGION
from local.invoke import InvokeRefusedError, InvokeResult
from local.lambdas import failures
from local.lambdas.functions import qualified
from local.lambdas.service import check_payload

EVENT_ATTEMPTS = 3
_ENCODER = Encoder()
_ENCODER.ensure_ascii = False  # as the runtime that the template names writes


class WorkerKilled(BaseException):
    """Raise it in a handler to end as a worker that was killed with kill -9."""


class WorkerTimedOut(BaseException):
    """Raise it in a handler to end as one that ran out of its time."""


@dataclass(frozen=True)
class FakeLambdaContext:
    """The context that a handler gets, with the attributes of Lambda's own."""

    function_name: str
    function_version: str
    invoked_function_arn: str
    aws_request_id: str
    memory_limit_in_mb: str = "128"
    log_group_name: str = ""
    log_stream_name: str = ""
    client_context: None = None
    identity: None = None
    remaining_ms: int = 60_000

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds left; always the same, as no real time passes."""
        return self.remaining_ms


Answer = object | Awaitable[object]
Handler = Callable[[Any, FakeLambdaContext], Answer]


class InProcessLambdas:
    """Runs handlers in this process and answers as Lambda would.

    Args:
        handlers: handler by function name, name:version or ARN; it may return an awaitable, so a
            fake can take virtual time.
        timeout: seconds named in the message of a handler that raises WorkerTimedOut.
        ids: makes request ids.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        *,
        timeout: float = 60,
        ids: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self._handlers = dict(handlers)
        self._timeout = timeout
        self._ids = ids

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        """Run the handler; an event is tried at once up to three times.

        Raises:
            InvokeRefusedError: no such function, no JSON, or too large.
        """
        handler, context = self._find(function_arn)
        limit = LAMBDA_ASYNC_BYTES if asynchronous else LAMBDA_SYNC_BYTES
        check_payload(payload, limit, "InvokeFunction")
        if not asynchronous:
            return await self._run(handler, context, payload)
        for _ in range(EVENT_ATTEMPTS):
            if (await self._run(handler, context, payload)).function_error is None:
                break
        return InvokeResult(202, b"", None, context.function_version)

    def _find(self, reference: str) -> tuple[Handler, FakeLambdaContext]:
        target = qualified(reference)
        names = (reference, f"{target.name}:{target.version}", target.name)
        known = next((name for name in names if name in self._handlers), None)
        if known is None:
            raise failures.function_not_found(reference)
        arn = f"arn:{PARTITION}:lambda:{REGION}:{ACCOUNT}:function:{target.name}"
        context = FakeLambdaContext(target.name, target.version, arn, self._ids())
        return self._handlers[known], context

    async def _run(
        self, handler: Handler, context: FakeLambdaContext, payload: bytes
    ) -> InvokeResult:
        version = context.function_version
        request_id = context.aws_request_id
        try:
            value = handler(json.loads(payload), context)
            if inspect.isawaitable(value):
                value = await value
            return answered(value, request_id, version)
        except WorkerKilled:
            return failures.exited(request_id, -9, version)
        except WorkerTimedOut:
            return failures.timed_out(request_id, self._timeout, version)
        except InvokeRefusedError:
            raise
        except Exception as problem:  # noqa: BLE001 - Lambda reports whatever a handler raises
            body = raised(problem, request_id)
            return failures.failed(body, version)


def answered(value: object, request_id: str, version: str) -> InvokeResult:
    """What a handler returned, as awslambdaric writes it under Python 3.13."""
    if isinstance(value, bytes):
        return InvokeResult(200, value, None, version)
    try:
        body = _ENCODER.encode(value).encode()
    except Exception as problem:  # noqa: BLE001 - as awslambdaric does
        body = report(
            "Runtime.MarshalError", f"Unable to marshal response: {problem}", request_id, []
        )
        return failures.failed(body, version)
    if len(body) > failures.RESPONSE_BYTES:
        return failures.response_too_large(len(body), version)
    return InvokeResult(200, body, None, version)


def raised(problem: Exception, request_id: str) -> bytes:
    """The error object of what a handler raised, its trace beginning in the handler."""
    trace = _own_frames(problem.__traceback__)
    return report(type(problem).__name__, str(problem), request_id, trace)


def report(kind: str, message: str, request_id: str, trace: list[str]) -> bytes:
    """An error object with awslambdaric's fields in its order."""
    fields = {
        "errorMessage": message,
        "errorType": kind,
        "requestId": request_id,
        "stackTrace": trace,
    }
    return json.dumps(fields, ensure_ascii=False).encode()


def _own_frames(trace: TracebackType | None) -> list[str]:
    frames = [frame for frame in traceback.extract_tb(trace) if frame.filename != __file__]
    return traceback.format_list(frames)
