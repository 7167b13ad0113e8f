"""A real model behind the local Bedrock, played by a small OpenAI-compatible server."""

import asyncio
import json
import socket
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from integration.local.serving import aws_client, served
from local.asgi import Receive, Scope, Send, read_body
from local.bedrock.app import bedrock_app
from local.bedrock.catalog import local_models
from local.bedrock.openai import ModelServerError, OpenAiServer
from local.rest import accept_lifespan, send_json

MODEL = "anthropic.claude-mapped"
ASK: Any = [{"role": "user", "content": [{"text": "Why?"}]}]


async def ollama(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await accept_lifespan(receive, send)
        return
    body = await read_body(receive)
    if scope["path"] == "/v1/models":
        await send_json(send, 200, {"data": [{"id": "llama3.1:latest"}]})
        return
    asked = json.loads(body)["messages"][-1]["content"]
    message = {"role": "assistant", "content": f"You asked: {asked}"}
    usage = {"prompt_tokens": 5, "completion_tokens": 4}
    answer = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    await send_json(send, 200, answer)


def converse(url: str) -> Any:
    client = aws_client("bedrock-runtime", url)
    try:
        return client.converse(modelId=MODEL, messages=ASK)
    finally:
        client.close()


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


async def test_boto3_talks_to_the_model_behind_the_mapped_id() -> None:
    async with served(ollama) as base:
        server = OpenAiServer(f"{base}/v1", chat={MODEL: "llama3.1"})
        await server.check()
        models = local_models(now=lambda: datetime.now(UTC), server=server)
        async with served(bedrock_app(models)) as url:
            answer = await asyncio.to_thread(converse, url)
    assert answer["output"]["message"]["content"] == [{"text": "You asked: Why?"}]
    assert answer["usage"]["totalTokens"] == 9


async def test_a_server_that_is_down_is_named_with_its_remedy() -> None:
    base = f"http://127.0.0.1:{free_port()}/v1"
    server = OpenAiServer(base, chat={MODEL: "llama3.1"})
    with pytest.raises(ModelServerError, match=r"cannot be reached.*Start it"):
        await server.check()
    models = local_models(now=lambda: datetime.now(UTC), server=server)
    async with served(bedrock_app(models)) as url:
        with pytest.raises(ClientError) as failed:
            await asyncio.to_thread(converse, url)
    assert failed.value.response["Error"]["Code"] == "ServiceUnavailableException"
    assert base in failed.value.response["Error"]["Message"]
