"""The one port: every AWS service of the laptop, told apart by the signature's credential scope."""

import asyncio
import contextlib
import errno
import functools
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Final

import uvicorn

from local.asgi import (
    ASGIApp,
    ClientGoneError,
    Receive,
    Scope,
    Send,
    header,
    respond_json,
)

HOST: Final = "127.0.0.1"
# `Credential=AKIA.../20261201/us-east-1/dynamodb/aws4_request`, in the header or the query of a
# presigned URL.
SCOPE: Final = re.compile(
    r"Credential=[^/,\s&]+/\d{8}/[^/,\s&]+/(?P<service>[^/,\s&]+)/aws4_request"
)
PRESIGNED: Final = re.compile(
    r"X-Amz-Credential=[^%/&]+(?:%2F|/)\d{8}(?:%2F|/)[^%/&]+(?:%2F|/)(?P<service>[^%/&]+)(?:%2F|/)",
    re.IGNORECASE,
)
# Seconds that requests under way may take when the server stops.
GRACE: Final = 1


class PortTakenError(Exception):
    """Another program listens on the port."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"Port {port} is taken by another program. Stop that program or choose another port."
        )
        self.port = port


def signed_service(scope: Scope) -> str | None:
    """The service a request was signed for, such as `dynamodb`; None where it is unsigned."""
    query = scope["query_string"].decode("latin-1")
    found = SCOPE.search(header(scope, "authorization")) or PRESIGNED.search(query)
    if found is not None:
        return found["service"]
    # boto3 still presigns for S3 with Signature Version 2, which names no service.
    return "s3" if "AWSAccessKeyId=" in query else None


Report = Callable[[str, Exception], None]


def gateway(
    services: Mapping[str, ASGIApp],
    unsigned: ASGIApp | None = None,
    *,
    report: Report = lambda _service, _problem: None,
) -> ASGIApp:
    """The ASGI app that hands each request to the service it was signed for.

    Args:
        services: app by the name in the credential scope.
        unsigned: answers requests without a signature, and WebSockets; None refuses them.
        report: hears of a service that broke, and of what; the client gets status 500.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        service = signed_service(scope) if scope["type"] == "http" else None
        chosen = unsigned if service is None else services.get(service)
        if chosen is not None:
            await _guarded(chosen, scope, receive, send, functools.partial(report, service or ""))
        elif scope["type"] == "http":
            await _refuse(send, service, services)

    return app


async def _guarded(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, report: Callable[[Exception], None]
) -> None:
    try:
        await app(scope, receive, send)
    except ClientGoneError:
        return
    except Exception as problem:
        report(problem)
        raise


async def _refuse(send: Send, service: str | None, known: Iterable[str]) -> None:
    if service is None:
        message = "The request bears no AWS signature, so it belongs to no service."
        await _error(send, HTTPStatus.FORBIDDEN, "MissingAuthenticationTokenException", message)
        return
    message = f"The local AWS has no service {service!r}; it has {', '.join(sorted(known))}."
    await _error(send, HTTPStatus.NOT_IMPLEMENTED, "ServiceNotImplemented", message)


async def _error(send: Send, status: HTTPStatus, name: str, message: str) -> None:
    content = {"__type": name, "message": message, "Message": message}
    await respond_json(send, status, content, {"x-amzn-errortype": name})


def bind(port: int) -> socket.socket:
    """Take the port on the loopback address; 0 takes any free one.

    Raises:
        PortTakenError: another program has it.
    """
    # With the protocol named asyncio sets TCP_NODELAY; without it an answer takes 40 ms longer.
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((HOST, port))
        taken.listen(256)
    except OSError as problem:
        taken.close()
        if problem.errno == errno.EADDRINUSE:
            raise PortTakenError(port) from None
        raise
    taken.setblocking(False)
    return taken


def url_of(bound: socket.socket) -> str:
    """The base URL of a bound port."""
    return f"http://{HOST}:{bound.getsockname()[1]}"


class _Server(uvicorn.Server):
    """Leaves signals to the stack."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no handler."""
        yield


@contextlib.asynccontextmanager
async def serving(app: ASGIApp, bound: socket.socket) -> AsyncIterator[str]:
    """Serve the app on a bound port in the running loop for the length of the block; its URL."""
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE,
        http="h11",
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        while not server.started and not running.done():
            await asyncio.sleep(0)
        yield url_of(bound)
    finally:
        server.should_exit = True
        await running
        bound.close()
