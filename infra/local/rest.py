"""The little HTTP that an AWS REST-JSON service needs, on bare ASGI.

A web framework would add 0.1 s to the start of the laptop's AWS for two routes' worth of work.
"""

import json
from collections.abc import Iterable
from typing import Any

from local.asgi import Receive, Send

JsonObject = dict[str, Any]

Header = tuple[bytes, bytes]


class ServiceError(Exception):
    """An error that an AWS service answers by name.

    Attributes:
        name: the exception's name in the service model, such as "ValidationException".
        message: the service's sentence.
        status: the HTTP status of the answer.
    """

    def __init__(self, name: str, message: str, status: int) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.status = status


def encode(document: object) -> bytes:
    """Give compact JSON as UTF-8; NaN and infinities are refused with ValueError."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


async def send_bytes(
    send: Send, status: int, body: bytes, content_type: bytes, headers: Iterable[Header] = ()
) -> None:
    """Answer with a whole body."""
    head = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


async def send_json(
    send: Send, status: int, document: object, headers: Iterable[Header] = ()
) -> None:
    """Answer with a JSON document."""
    await send_bytes(send, status, encode(document), b"application/json", headers)


async def send_error(send: Send, error: ServiceError, headers: Iterable[Header] = ()) -> None:
    """Answer as REST-JSON services do: the error's name in a header, its sentence in the body."""
    named = [(b"x-amzn-errortype", error.name.encode()), *headers]
    await send_json(send, error.status, {"message": error.message}, named)


async def accept_lifespan(receive: Receive, send: Send) -> None:
    """Answer the server's start-up and shutdown messages; the app has nothing to do at either."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
