import asyncio
import signal

import httpx
import pytest

from local.asgi import Receive, Scope, Send, read_body, respond
from local.gateway import PortTakenError, bind, gateway, serving, url_of


async def echo(_scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, 200, await read_body(receive))


def test_a_taken_port_is_refused_with_a_sentence() -> None:
    with bind(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTakenError, match=f"Port {port} is taken"):
            bind(port)


async def test_the_port_answers_as_soon_as_the_block_begins_and_not_after_it() -> None:
    before = signal.getsignal(signal.SIGINT)
    async with serving(gateway({}, echo), bind(0)) as url, httpx.AsyncClient() as client:
        body = b"x" * 3_000_000
        assert (await client.post(url, content=body)).content == body
        assert signal.getsignal(signal.SIGINT) is before
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(url)


async def test_a_request_that_hangs_does_not_hold_up_the_end() -> None:
    async def hangs(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.sleep(3600)

    bound = bind(0)
    async with httpx.AsyncClient() as client:
        async with serving(hangs, bound):
            hanging = asyncio.create_task(client.get(url_of(bound), timeout=30))
            await asyncio.sleep(0.05)
        with pytest.raises(httpx.HTTPError):
            (await hanging).raise_for_status()
