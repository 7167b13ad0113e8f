"""The Lambda Runtime API of one worker: the HTTP that awslambdaric speaks.

Source: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

PREFIX: Final = "/2018-06-01/runtime/"
# An error's X-Ray cause travels in a header of up to 1 MiB.
HEAD_BYTES: Final = 2 * 1024 * 1024


@dataclass(frozen=True)
class Invocation:
    """One invocation as a worker is given it."""

    request_id: str
    arn: str
    deadline_ms: int
    trace_id: str
    payload: bytes


@dataclass(frozen=True)
class RuntimeRequest:
    """One request of the runtime."""

    method: str
    path: str
    body: bytes


class RuntimeEvents(Protocol):
    """What a worker hears from its runtime."""

    def runtime_ready(self) -> None:
        """The runtime asked for its first invocation."""
        ...

    def runtime_answered(self, request_id: str, payload: bytes) -> None:
        """The function returned."""
        ...

    def runtime_failed(self, request_id: str, payload: bytes) -> None:
        """The function raised; the payload is its error object."""
        ...

    def runtime_init_failed(self, payload: bytes) -> None:
        """The handler could not be loaded; the payload is the error object."""
        ...


class BadRequestError(Exception):
    """What came is no request of a runtime."""


def take_request(buffer: bytearray) -> RuntimeRequest | None:
    """Take one whole request off the front of the buffer; None while it is incomplete.

    Raises:
        BadRequestError: the head is too long or its Content-Length is no number.
    """
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        if len(buffer) > HEAD_BYTES:
            raise BadRequestError("The head of the request is too long.")
        return None
    line, *fields = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    length = content_length(fields)
    if len(buffer) < end + 4 + length:
        return None
    body = bytes(buffer[end + 4 : end + 4 + length])
    del buffer[: end + 4 + length]
    method, path = line.split(" ")[:2]
    return RuntimeRequest(method, path, body)


def content_length(fields: list[str]) -> int:
    """Bytes of the body, 0 where the head says nothing.

    Raises:
        BadRequestError: it is no number.
    """
    for name, _, value in (text.partition(":") for text in fields):
        if name.lower() == "content-length":
            if not value.strip().isdecimal():
                raise BadRequestError(f"Content-Length is {value.strip()!r}.")
            return int(value)
    return 0


def reply(status: HTTPStatus, body: bytes = b"{}", fields: str = "") -> bytes:
    """A response as bytes on the wire."""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{fields}\r\n"
    )
    return head.encode() + body


def invocation_reply(invocation: Invocation) -> bytes:
    """The response to `invocation/next`."""
    fields = (
        f"Lambda-Runtime-Aws-Request-Id: {invocation.request_id}\r\n"
        f"Lambda-Runtime-Deadline-Ms: {invocation.deadline_ms}\r\n"
        f"Lambda-Runtime-Invoked-Function-Arn: {invocation.arn}\r\n"
        f"Lambda-Runtime-Trace-Id: {invocation.trace_id}\r\n"
    )
    return reply(HTTPStatus.OK, invocation.payload, fields)


class RuntimeApi:
    """Serves one worker's runtime on a port of its own on the loopback address."""

    def __init__(self, events: RuntimeEvents) -> None:
        self._events = events
        self._server: asyncio.Server | None = None
        self._transports: set[asyncio.Transport] = set()
        self._polling: asyncio.Transport | None = None
        self._waiting: Invocation | None = None

    async def start(self) -> str:
        """Listen; the address for AWS_LAMBDA_RUNTIME_API."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return f"127.0.0.1:{port}"

    def submit(self, invocation: Invocation) -> None:
        """Give the runtime an invocation, now or when it next asks."""
        if self._polling is None:
            self._waiting = invocation
            return
        self._polling.write(invocation_reply(invocation))
        self._polling = None

    def close(self) -> None:
        """Stop listening and drop the runtime's connections."""
        if self._server is not None:
            self._server.close()
        for transport in list(self._transports):
            transport.abort()

    def connected(self, transport: asyncio.Transport) -> None:
        """A connection of the runtime opened."""
        self._transports.add(transport)

    def disconnected(self, transport: asyncio.Transport) -> None:
        """A connection of the runtime closed."""
        self._transports.discard(transport)
        if self._polling is transport:
            self._polling = None

    def handle(self, request: RuntimeRequest, transport: asyncio.Transport) -> None:
        """Answer one request of the runtime."""
        match [request.method, *request.path.removeprefix(PREFIX).split("/")]:
            case ["GET", "invocation", "next"]:
                self._poll(transport)
            case ["POST", "invocation", request_id, "response"]:
                transport.write(reply(HTTPStatus.ACCEPTED))
                self._events.runtime_answered(request_id, request.body)
            case ["POST", "invocation", request_id, "error"]:
                transport.write(reply(HTTPStatus.ACCEPTED))
                self._events.runtime_failed(request_id, request.body)
            case ["POST", "init", "error"]:
                transport.write(reply(HTTPStatus.ACCEPTED))
                self._events.runtime_init_failed(request.body)
            case _:
                transport.write(reply(HTTPStatus.NOT_FOUND))

    def _poll(self, transport: asyncio.Transport) -> None:
        self._polling = transport
        self._events.runtime_ready()
        if self._waiting is not None:
            invocation, self._waiting = self._waiting, None
            self.submit(invocation)


class _Connection(asyncio.Protocol):
    def __init__(self, api: RuntimeApi) -> None:
        self._api = api
        self._buffer = bytearray()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
            self._api.connected(transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            while (request := take_request(self._buffer)) is not None:
                self._api.handle(request, self._transport)
        except BadRequestError:
            self._transport.write(reply(HTTPStatus.BAD_REQUEST))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._api.disconnected(self._transport)
