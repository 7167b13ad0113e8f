"""The few lines of ASGI that every service of the laptop's AWS needs."""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class ClientGoneError(Exception):
    """The client closed the connection before its request was whole."""


async def read_body(receive: Receive) -> bytes:
    """The whole body of a request.

    Raises:
        ClientGoneError: the client closed the connection.
    """
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        return bytes(message.get("body", b""))
    parts = []
    while True:
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def header(scope: Scope, name: str) -> str:
    """A request header's value, "" where it is absent."""
    wanted = name.lower().encode("latin-1")
    for key, value in scope["headers"]:
        if key == wanted:
            return str(value, "latin-1")
    return ""


async def respond(
    send: Send, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    """Send a whole response; Content-Length is added where it is not among the headers."""
    fields = {"content-length": str(len(body)), **(headers or {})}
    raw = [
        (key.lower().encode("latin-1"), value.encode("latin-1")) for key, value in fields.items()
    ]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


async def respond_json(
    send: Send, status: int, content: object, headers: Mapping[str, str] | None = None
) -> None:
    """Send JSON."""
    fields = {"content-type": "application/json", **(headers or {})}
    await respond(send, status, json.dumps(content).encode(), fields)
