"""However a model fails, one call of ours is one request on the wire, and its error says what next.

The product's own client, with its own settings, against a served endpoint that counts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from autoops.adapters import aws
from autoops.adapters.bedrock import BedrockChat, BedrockEmbedder
from autoops.domain.model import ModelReply
from autoops.domain.structured import Rejected, check_stop, judge
from autoops.errors import (
    AutoOpsError,
    ModelFaulted,
    ModelMisconfigured,
    ModelThrottled,
    ModelTimedOut,
    ModelUnavailable,
)
from integration.local.serving import served
from local.asgi import ASGIApp, Receive, Scope, Send
from local.bedrock.app import bedrock_app
from local.bedrock.catalog import local_models
from local.bedrock.models import WORDLLAMA, Models
from local.bedrock.scripts import Scripted
from samples import MODEL, request

USAGE = {"inputTokens": 30, "outputTokens": 7, "totalTokens": 37}
READ_SECONDS = 0.5
LATE = Scripted(text="late", delay=READ_SECONDS * 3)

FAILURES: list[tuple[str, Scripted, type[AutoOpsError]]] = [
    ("throttled", Scripted(error="ThrottlingException"), ModelThrottled),
    ("not ready", Scripted(error="ModelNotReadyException"), ModelUnavailable),
    ("unavailable", Scripted(error="ServiceUnavailableException"), ModelUnavailable),
    ("internal", Scripted(error="InternalServerException"), ModelUnavailable),
    ("model timeout", Scripted(error="ModelTimeoutException"), ModelTimedOut),
    ("model error", Scripted(error="ModelErrorException"), ModelFaulted),
    ("invalid", Scripted(error="ValidationException"), ModelMisconfigured),
    ("read timeout", LATE, ModelTimedOut),
    ("killed", Scripted(text="lost" * 100, fault="kill"), ModelTimedOut),
    ("half a document", Scripted(text="lost" * 100, fault="bad_json"), ModelFaulted),
]


@dataclass
class Counted:
    """Counts what reaches the app, whatever comes of it."""

    app: ASGIApp
    paths: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.paths.append(scope["path"])
        await self.app(scope, receive, send)


@pytest.fixture
def models() -> Models:
    return local_models(now=lambda: datetime.now(UTC))


@pytest.fixture
def counted(models: Models) -> Counted:
    return Counted(bedrock_app(models))


@pytest.fixture
async def runtime(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    async with served(counted) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
        monkeypatch.setattr(aws, "MODEL_READ_SECONDS", READ_SECONDS)
        made = aws._client.__wrapped__("bedrock-runtime")
        yield made
        made.close()


def ask(runtime: Any) -> Callable[[], ModelReply]:
    return lambda: BedrockChat(runtime).converse(request())


def embed(runtime: Any) -> Callable[[], object]:
    return lambda: BedrockEmbedder(runtime, WORDLLAMA, 256).embed(["a yak"])


@pytest.mark.parametrize(("name", "reply", "ours"), FAILURES, ids=lambda value: str(value)[:20])
async def test_a_failing_converse_is_one_request(
    runtime: Any,
    models: Models,
    counted: Counted,
    name: str,
    reply: Scripted,
    ours: type[AutoOpsError],
) -> None:
    models.script(MODEL, [reply, Scripted(text="a second request")])
    with pytest.raises(ours) as raised:
        await asyncio.to_thread(ask(runtime))
    assert type(raised.value) is ours, name
    assert len(counted.paths) == 1, name


@pytest.mark.parametrize(("name", "reply", "ours"), FAILURES, ids=lambda value: str(value)[:20])
async def test_a_failing_embedding_is_one_request(
    runtime: Any,
    models: Models,
    counted: Counted,
    name: str,
    reply: Scripted,
    ours: type[AutoOpsError],
) -> None:
    given = Scripted(output={"embedding": [0.5] * 256}, fault=reply.fault, delay=reply.delay)
    models.script(WORDLLAMA, [reply if reply.error else given, Scripted(output={"embedding": [1]})])
    with pytest.raises(ours) as raised:
        await asyncio.to_thread(embed(runtime))
    assert type(raised.value) is ours, name
    assert len(counted.paths) == 1, name


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_gateway_that_knows_no_json_is_asked_once(
    runtime: Any, counted: Counted, status: int
) -> None:
    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001  # ASGI's shape
        await receive()
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"<html>bad gateway</html>"})

    counted.app = gateway
    with pytest.raises((ModelUnavailable, ModelThrottled, ModelTimedOut)):
        await asyncio.to_thread(ask(runtime))
    assert len(counted.paths) == 1


async def test_a_server_that_hangs_up_before_the_answer_may_have_charged(
    runtime: Any, counted: Counted
) -> None:
    async def silent(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001  # ASGI's shape
        await receive()

    counted.app = silent
    with pytest.raises(AutoOpsError):
        await asyncio.to_thread(ask(runtime))
    assert len(counted.paths) == 1


async def test_a_server_that_is_not_there_charged_nothing(
    monkeypatch: pytest.MonkeyPatch, runtime: Any, counted: Counted
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:9")
    nowhere = aws._client.__wrapped__("bedrock-runtime")
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await asyncio.to_thread(ask(nowhere))
    nowhere.close()
    assert counted.paths == []
    assert runtime is not nowhere


async def test_a_reply_without_usage_is_one_request_whose_cost_is_unknown(
    runtime: Any, models: Models, counted: Counted
) -> None:
    said = {
        "output": {"message": {"role": "assistant", "content": [{"text": "hm"}]}},
        "stopReason": "end_turn",
    }
    models.script(MODEL, [Scripted(output=said)])
    reply = await asyncio.to_thread(ask(runtime))
    assert (reply.text, reply.usage) == ("hm", None)
    assert len(counted.paths) == 1


@pytest.mark.parametrize("given", ["[1, 2]", ["a", "b"], 7, None, "not json"])
async def test_tool_input_that_is_no_object_is_judged_and_sent_back(
    runtime: Any, models: Models, counted: Counted, given: object
) -> None:
    block = {"toolUse": {"toolUseId": "t1", "name": "answer", "input": given}}
    said = {
        "output": {"message": {"role": "assistant", "content": [block]}},
        "stopReason": "tool_use",
        "usage": USAGE,
    }
    models.script(MODEL, [Scripted(output=said)])
    reply = await asyncio.to_thread(ask(runtime))
    check_stop(reply)
    assert isinstance(judge(reply, "CitedAnswer"), Rejected)
    assert reply.usage is not None, "it was paid for, and its price is known"
    assert len(counted.paths) == 1


@pytest.mark.parametrize("reason", ["malformed_tool_use", "malformed_model_output"])
async def test_a_malformed_reply_is_judged_and_sent_back(
    runtime: Any, models: Models, counted: Counted, reason: str
) -> None:
    models.script(MODEL, [Scripted(text='{"answered": tru', stop_reason=reason)])
    reply = await asyncio.to_thread(ask(runtime))
    check_stop(reply)
    assert isinstance(judge(reply, "CitedAnswer"), Rejected)
    assert len(counted.paths) == 1
