"""The engine as an AWS endpoint: AWS JSON 1.0, as boto3 and the AWS CLI speak it."""

import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from local.stepfunctions.api import (
    activities,
    executions,
    machines,
    map_runs,
    state_tests,
    tasks,
    versions,
)
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import ApiError

_log = logging.getLogger(__name__)
_PREFIX: Final = b"AWSStepFunctions."
_CONTENT_TYPE: Final = (b"content-type", b"application/x-amz-json-1.0")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Operation = Callable[[Engine, Mapping[str, Any]], Any]

OPERATIONS: Final[Mapping[str, Operation]] = {
    **machines.OPERATIONS,
    **versions.OPERATIONS,
    **executions.OPERATIONS,
    **tasks.OPERATIONS,
    **activities.OPERATIONS,
    **state_tests.OPERATIONS,
    **map_runs.OPERATIONS,
}


def stepfunctions_app(engine: Engine) -> ASGIApp:
    """The ASGI application that answers for an engine; it runs on the engine's event loop."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        body = await _body(receive)
        status, answer = await respond(engine, _target(scope), body)
        await _reply(send, status, answer)

    return app


async def respond(engine: Engine, target: str, body: bytes) -> tuple[int, dict[str, Any]]:
    """Carry out one operation.

    Args:
        engine: whose operation.
        target: its name, such as "StartExecution".
        body: its parameters as JSON text.

    Returns:
        The HTTP status and the answer.
    """
    try:
        answered = await _carried_out(engine, target, body)
        # A refusal, too, may rest on what is not yet on disk.
        await engine.durable()
    except RuntimeError as problem:
        _log.critical("the engine does not work any more", exc_info=problem)
        return 500, {"__type": "InternalServerError", "message": str(problem)}
    return answered


async def _carried_out(engine: Engine, target: str, body: bytes) -> tuple[int, dict[str, Any]]:
    operation = OPERATIONS.get(target)
    if operation is None:
        return _refusal(ApiError("UnknownOperationException", f"Unknown operation: {target}"))
    try:
        answer = operation(engine, json.loads(body or b"{}"))
        if inspect.isawaitable(answer):
            answer = await answer
    except ApiError as refusal:
        return _refusal(refusal)
    except (KeyError, ValueError, TypeError) as problem:
        _log.warning(
            "a call could not be read", extra={"operation": target, "reason": str(problem)}
        )
        return _refusal(ApiError("ValidationException", f"Invalid parameters: {problem}"))
    return 200, answer


def _refusal(refusal: ApiError) -> tuple[int, dict[str, Any]]:
    return 400, {"__type": refusal.code, "message": refusal.message}


def _target(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-amz-target":
            return bytes(value).removeprefix(_PREFIX).decode()
    return ""


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _reply(send: Send, status: int, answer: dict[str, Any]) -> None:
    body = json.dumps(answer).encode()
    headers = [_CONTENT_TYPE, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
