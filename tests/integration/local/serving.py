"""Serves an ASGI app over loopback for a test, and gives clients for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import boto3
import uvicorn
from botocore.config import Config

from local.asgi import ASGIApp


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """Give the URL of the app while it is served on a free port of 127.0.0.1."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await serving


def aws_client(service: str, url: str) -> Any:
    """Give a boto3 client with one attempt per call."""
    return boto3.client(
        service,  # type: ignore[call-overload] # any service
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(
            retries={"total_max_attempts": 1}, read_timeout=10, connect_timeout=2, proxies={}
        ),
    )
