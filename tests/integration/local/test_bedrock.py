import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, EventStreamError
from langchain_aws import ChatBedrockConverse
from pydantic import BaseModel

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient
    from mypy_boto3_bedrock_runtime.type_defs import MessageTypeDef

from integration.local.serving import aws_client, served
from local.bedrock.app import bedrock_app
from local.bedrock.catalog import local_models
from local.bedrock.models import EXTRACTIVE, WORDLLAMA, Models
from local.bedrock.scripts import Scripted

SCRIPTED = "anthropic.claude-sonnet-4-scripted"
PASSAGE = (
    "[guide#1] Guide, Opening hours\nThe library opens at nine in the morning. It is closed on "
    "Sundays.\n\nBooks may be borrowed\nfor three weeks."
)
QUESTION = "Question: When does the library open?"
ASK: "list[MessageTypeDef]" = [{"role": "user", "content": [{"text": PASSAGE}, {"text": QUESTION}]}]


class Citation(BaseModel):
    """Where the answer stands."""

    passage: str
    quote: str


class Answer(BaseModel):
    """An answer from the passages alone."""

    answered: bool
    text: str
    citations: list[Citation]


@pytest.fixture
def models() -> Models:
    return local_models(now=lambda: datetime.now(UTC))


@pytest.fixture
async def url(models: Models) -> AsyncIterator[str]:
    async with served(bedrock_app(models)) as base:
        yield base


@pytest.fixture
def client(url: str) -> "Iterator[BedrockRuntimeClient]":
    made = aws_client("bedrock-runtime", url)
    yield made
    made.close()


def chat(
    client: "BedrockRuntimeClient", model: str, *, streams: bool = False
) -> ChatBedrockConverse:
    return ChatBedrockConverse(
        model_id=model,
        provider=model.split(".", maxsplit=1)[0],
        client=client,
        bedrock_client=object(),
        region_name="us-east-1",
        supports_tool_choice_values=("auto", "any", "tool"),
        disable_streaming=not streams,
    )


def message(*texts: str) -> list[tuple[str, Any]]:
    return [("user", [{"type": "text", "text": text} for text in texts])]


async def test_langchain_gets_a_cited_answer_through_the_forced_tool(
    client: "BedrockRuntimeClient",
) -> None:
    model = chat(client, EXTRACTIVE).with_structured_output(Answer, include_raw=True)
    result = await asyncio.to_thread(model.invoke, message(PASSAGE, QUESTION))
    assert isinstance(result, dict)
    answer = result["parsed"]
    assert answer.answered
    assert answer.text == "The library opens at nine in the morning."
    assert [c.passage for c in answer.citations] == ["guide#1"]
    assert answer.citations[0].quote in PASSAGE
    assert result["raw"].response_metadata["stopReason"] == "tool_use"
    usage = result["raw"].usage_metadata
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


async def test_langchain_streams_the_same_text(client: "BedrockRuntimeClient") -> None:
    model = chat(client, EXTRACTIVE, streams=True)

    def stream() -> list[Any]:
        return list(model.stream(message(PASSAGE, QUESTION)))

    chunks = await asyncio.to_thread(stream)
    whole = await asyncio.to_thread(chat(client, EXTRACTIVE).invoke, message(PASSAGE, QUESTION))
    assert len(chunks) > 2
    assert "".join(chunk.text for chunk in chunks) == whole.text


async def test_boto3_gets_converses_shape(client: "BedrockRuntimeClient") -> None:
    answer = await asyncio.to_thread(client.converse, modelId=EXTRACTIVE, messages=ASK)
    assert answer["stopReason"] == "end_turn"
    assert answer["ResponseMetadata"]["RequestId"]
    assert answer["metrics"]["latencyMs"] >= 0
    assert "nine in the morning" in answer["output"]["message"]["content"][0]["text"]


async def test_boto3_counts_tokens_as_the_usage_will_say(client: "BedrockRuntimeClient") -> None:
    counted = await asyncio.to_thread(
        client.count_tokens, modelId=EXTRACTIVE, input={"converse": {"messages": ASK}}
    )
    answer = await asyncio.to_thread(client.converse, modelId=EXTRACTIVE, messages=ASK)
    assert counted["inputTokens"] == answer["usage"]["inputTokens"]


async def test_boto3_embeds_through_invoke_model(client: "BedrockRuntimeClient") -> None:
    answer = await asyncio.to_thread(
        client.invoke_model, modelId=WORDLLAMA, body=b'{"inputText": "a try block"}'
    )
    assert b'"embedding":[' in answer["body"].read()
    assert answer["ResponseMetadata"]["HTTPHeaders"]["x-amzn-bedrock-input-token-count"] == "3"


@pytest.mark.parametrize(
    "name", ["ThrottlingException", "ModelTimeoutException", "ServiceUnavailableException"]
)
async def test_a_scripted_error_reaches_boto3_by_its_name(
    client: "BedrockRuntimeClient", models: Models, name: str
) -> None:
    models.script(SCRIPTED, [Scripted(error=name)])
    with pytest.raises(ClientError) as failed:
        await asyncio.to_thread(client.converse, modelId=SCRIPTED, messages=ASK)
    assert failed.value.response["Error"]["Code"] == name
    assert isinstance(failed.value, getattr(client.exceptions, name))
    assert len(models.requests) == 1


async def test_a_killed_connection_is_a_connection_error_and_the_call_was_made(
    client: "BedrockRuntimeClient", models: Models
) -> None:
    models.script(SCRIPTED, [Scripted(text="lost", fault="kill")])
    with pytest.raises(ConnectionClosedError):
        await asyncio.to_thread(client.converse, modelId=SCRIPTED, messages=ASK)
    assert [request.model_id for request in models.requests] == [SCRIPTED]


async def test_half_a_document_reaches_boto3_as_an_answer_without_output(
    client: "BedrockRuntimeClient", models: Models
) -> None:
    models.script(SCRIPTED, [Scripted(text="lost", fault="bad_json")])
    answer = await asyncio.to_thread(client.converse, modelId=SCRIPTED, messages=ASK)
    assert set(answer) == {"ResponseMetadata"}


async def test_a_stream_that_fails_in_the_middle_raises_in_boto3(
    client: "BedrockRuntimeClient", models: Models
) -> None:
    models.script(SCRIPTED, [Scripted(text="The total is 1", fault="stream_error")])

    def stream() -> list[Any]:
        with closing(client.converse_stream(modelId=SCRIPTED, messages=ASK)["stream"]) as events:
            return list(events)

    with pytest.raises(EventStreamError, match="modelStreamErrorException"):
        await asyncio.to_thread(stream)


StopReason = Literal["max_tokens", "guardrail_intervened"]


@pytest.mark.parametrize("stop_reason", ["max_tokens", "guardrail_intervened"])
async def test_langchain_is_told_why_a_scripted_reply_stopped(
    client: "BedrockRuntimeClient", models: Models, stop_reason: StopReason
) -> None:
    models.script(SCRIPTED, [Scripted(text='{"a": 12', stop_reason=stop_reason)])
    answer = await asyncio.to_thread(chat(client, SCRIPTED).invoke, message("q"))
    assert answer.response_metadata["stopReason"] == stop_reason
