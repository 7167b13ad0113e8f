"""The local Bedrock runtime as an ASGI app: what boto3 and langchain-aws speak to."""

import itertools
import json
import uuid
from collections.abc import Iterator
from typing import Any, Final

from local.asgi import ASGIApp, Receive, Scope, Send, read_body
from local.bedrock import eventstream
from local.bedrock.errors import SENTENCES, bedrock_error, invalid
from local.bedrock.models import Answer, Models, Request
from local.bedrock.scripts import script_from
from local.bedrock.stream import stream_events
from local.rest import (
    Header,
    JsonObject,
    ServiceError,
    accept_lifespan,
    encode,
    send_bytes,
    send_error,
    send_json,
)

CONTROL: Final = "/_local/"
_MODEL: Final = "/model/"
_STREAM_ERROR: Final = "ModelStreamErrorException"


def bedrock_app(models: Models) -> ASGIApp:
    """Serve Converse, ConverseStream, InvokeModel and CountTokens for these models.

    Tests of other processes reach the scripts through PUT /_local/scripts/{model id},
    GET /_local/requests and DELETE /_local/scripts.
    """
    # Numbered, so that two equal runs differ in nothing.
    request_ids = (str(uuid.UUID(int=number)).encode() for number in itertools.count(1))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await accept_lifespan(receive, send)
            return
        headers = [(b"x-amzn-requestid", next(request_ids))]
        body = await read_body(receive)
        try:
            if scope["path"].startswith(CONTROL):
                await _control(models, scope, body, send)
            else:
                await _serve(models, scope, body, send, headers)
        except ServiceError as error:
            await send_error(send, error, headers)

    return app


async def _serve(
    models: Models, scope: Scope, body: bytes, send: Send, headers: list[Header]
) -> None:
    model_id, operation = _target(scope)
    request = _json_object(body)
    if operation == "converse":
        answer = await models.converse(operation, model_id, request)
        await _send_answer(send, answer, headers)
    elif operation == "converse-stream":
        answer = await models.converse(operation, model_id, request)
        await _send_stream(send, answer, headers)
    elif operation == "invoke":
        answer = await models.invoke(model_id, request)
        counted = str(answer.document.get("inputTextTokenCount", 0)).encode()
        await _send_answer(send, answer, [*headers, (b"x-amzn-bedrock-input-token-count", counted)])
    else:
        await send_json(send, 200, models.count_tokens(model_id, request), headers)


def _target(scope: Scope) -> tuple[str, str]:
    path: str = scope["path"]
    model_id, _, operation = path.removeprefix(_MODEL).rpartition("/")
    known = operation in {"converse", "converse-stream", "invoke", "count-tokens"}
    if scope["method"] != "POST" or not path.startswith(_MODEL) or not model_id or not known:
        raise ServiceError("UnknownOperationException", f"No operation at {path}.", 404)
    return model_id, operation


def _json_object(body: bytes) -> JsonObject:
    document = _json(body)
    if not isinstance(document, dict):
        raise invalid("Malformed input request, please reformat your input and try again.")
    return document


def _json(body: bytes) -> Any:
    try:
        return json.loads(body or b"{}")
    except ValueError as error:
        raise invalid(f"Malformed input request, {error}, please try again.") from error


async def _send_answer(send: Send, answer: Answer, headers: list[Header]) -> None:
    if answer.fault == "stream_error":
        raise bedrock_error(answer.error or _STREAM_ERROR, answer.message)
    body = encode(answer.document)
    if answer.fault == "kill":
        await _send_half(send, body, headers)
        return
    sent = body[: len(body) // 2] if answer.fault == "bad_json" else body
    await send_bytes(send, 200, sent, b"application/json", headers)


async def _send_half(send: Send, body: bytes, headers: list[Header]) -> None:
    """Send half of a body and return: the server then drops the connection.

    No content-length: botocore does not compare it with what came, so only a broken chunked body
    reaches its caller as the connection error that it is.
    """
    head = [(b"content-type", b"application/json"), *headers]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    half = body[: len(body) // 2]
    await send({"type": "http.response.body", "body": half, "more_body": True})


async def _send_stream(send: Send, answer: Answer, headers: list[Header]) -> None:
    head = [(b"content-type", eventstream.CONTENT_TYPE), *headers]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    for frame in _frames(answer):
        await send({"type": "http.response.body", "body": frame, "more_body": True})
    if answer.fault != "kill":
        await send({"type": "http.response.body", "body": b""})


def _frames(answer: Answer) -> Iterator[bytes]:
    events = list(stream_events(answer.document))
    breaks = answer.fault in {"kill", "stream_error", "bad_json"}
    # The last two events say that the answer is whole; a broken stream never shows them.
    told = events[: max(1, (len(events) - 2) // 2)] if breaks else events
    for event_type, payload in told:
        yield eventstream.event_frame(event_type, payload)
    if answer.fault == "stream_error":
        name = answer.error or _STREAM_ERROR
        member = name[:1].lower() + name[1:]
        yield eventstream.exception_frame(member, answer.message or SENTENCES.get(name, name))


async def _control(models: Models, scope: Scope, body: bytes, send: Send) -> None:
    method, path = scope["method"], scope["path"].removeprefix(CONTROL)
    if method == "GET" and path == "requests":
        told = [_told(request) for request in models.requests]
        await send_json(send, 200, {"requests": told})
    elif method == "PUT" and path.startswith("scripts/"):
        script = script_from(_json(body))
        models.script(path.removeprefix("scripts/"), script)
        await send_json(send, 200, {"replies": len(script)})
    elif method == "DELETE" and path in {"scripts", "requests"}:
        models.forget()
        await send_json(send, 200, {})
    else:
        raise ServiceError("UnknownOperationException", f"No {method} at {path}.", 404)


def _told(request: Request) -> JsonObject:
    return {
        "operation": request.operation,
        "modelId": request.model_id,
        "body": request.body,
        "time": request.time.isoformat(),
    }
