"""S3 Vectors of the laptop as an ASGI app: the REST-JSON API that boto3 speaks."""

import itertools
import json
import uuid

from local.asgi import ASGIApp, Receive, Scope, Send, read_body
from local.rest import JsonObject, ServiceError, accept_lifespan, send_error, send_json
from local.vectors.errors import invalid
from local.vectors.operations import OPERATIONS
from local.vectors.store import VectorStore


def vectors_app(store: VectorStore) -> ASGIApp:
    """Serve the vectors of a store."""
    # Numbered, so that two equal runs differ in nothing.
    request_ids = (str(uuid.UUID(int=number)).encode() for number in itertools.count(1))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await accept_lifespan(receive, send)
            return
        headers = [(b"x-amzn-requestid", next(request_ids))]
        body = await read_body(receive)
        try:
            answer = _answer(store, scope, body)
        except ServiceError as error:
            await send_error(send, error, headers)
        else:
            await send_json(send, 200, answer, headers)

    return app


def _answer(store: VectorStore, scope: Scope, body: bytes) -> JsonObject:
    path: str = scope["path"]
    operation = OPERATIONS.get(path.removeprefix("/"))
    if operation is None or scope["method"] != "POST":
        raise ServiceError("UnknownOperationException", f"No operation at {path}.", 404)
    try:
        request = json.loads(body or b"{}")
    except ValueError as error:
        raise invalid(f"The body is not JSON: {error}.") from error
    if not isinstance(request, dict):
        raise invalid("The body must be a JSON object.")
    return operation(store, {key: value for key, value in request.items() if value is not None})
