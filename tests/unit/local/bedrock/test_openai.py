import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from local.bedrock.openai import ModelServerError, OpenAiServer
from local.rest import ServiceError
from unit.local.bedrock.conversations import ANSWER, conversation, forced, user

URL = "http://127.0.0.1:11434/v1"
MODEL = "anthropic.claude-mapped"
ASK = conversation(
    user("passage", "Question: why?"),
    system=[{"text": "Answer from the passages."}],
    inferenceConfig={"maxTokens": 50, "temperature": 0, "stopSequences": ["END"]},
    toolConfig=forced("answer", ANSWER),
)


def replying(
    reply: Callable[[httpx.Request], httpx.Response], api_key: str | None = None
) -> tuple[OpenAiServer, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return reply(request)

    server = OpenAiServer(
        URL,
        chat={MODEL: "llama3.1"},
        embeddings={"amazon.titan": "nomic-embed-text"},
        transport=httpx.MockTransport(handle),
        api_key=api_key,
    )
    return server, seen


def choice(message: dict[str, Any], finish: str = "stop", **more: object) -> httpx.Response:
    return httpx.Response(
        200, json={"choices": [{"message": message, "finish_reason": finish}], **more}
    )


def call(arguments: str) -> dict[str, Any]:
    function = {"name": "answer", "arguments": arguments}
    return {"content": None, "tool_calls": [{"id": "x", "type": "function", "function": function}]}


async def test_converse_is_told_as_a_chat_completion() -> None:
    server, seen = replying(lambda _: choice({"content": "Because."}), api_key="k")
    await server.converse(MODEL, ASK)
    [request] = seen
    assert str(request.url) == f"{URL}/chat/completions"
    assert request.headers["authorization"] == "Bearer k"
    assert json.loads(request.content) == {
        "model": "llama3.1",
        "stream": False,
        "messages": [
            {"role": "system", "content": "Answer from the passages."},
            {"role": "user", "content": "passage\n\nQuestion: why?"},
        ],
        "max_tokens": 50,
        "temperature": 0,
        "stop": ["END"],
        "tools": [{"type": "function", "function": {"name": "answer", "parameters": ANSWER}}],
        "tool_choice": {"type": "function", "function": {"name": "answer"}},
    }
    assert "api_key" not in repr(server)


async def test_a_tool_call_and_its_usage_come_back_as_converse_gives_them() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    server, _ = replying(lambda _: choice(call('{"answered": false}'), "stop", usage=usage))
    answer = await server.converse(MODEL, ASK)
    [block] = answer["output"]["message"]["content"]
    assert block["toolUse"]["input"] == {"answered": False}
    assert answer["stopReason"] == "tool_use"
    assert answer["usage"] == {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}


@pytest.mark.parametrize("arguments", ['{"answered": tru', "[1, 2]"])
async def test_broken_arguments_stay_text_under_their_own_stop_reason(arguments: str) -> None:
    server, _ = replying(lambda _: choice(call(arguments), "tool_calls"))
    answer = await server.converse(MODEL, ASK)
    assert answer["output"]["message"]["content"] == [{"text": arguments}]
    assert answer["stopReason"] == "malformed_tool_use"
    assert answer["usage"]["totalTokens"] > 0


@pytest.mark.parametrize(
    ("finish", "stop_reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "content_filtered"),
        ("odd", "odd"),
    ],
)
async def test_the_reason_for_stopping_is_translated(finish: str, stop_reason: str) -> None:
    server, _ = replying(lambda _: choice({"content": "a"}, finish))
    assert (await server.converse(MODEL, ASK))["stopReason"] == stop_reason


async def test_a_tool_conversation_is_told_with_its_calls_and_results() -> None:
    server, seen = replying(lambda _: choice({"content": "a"}))
    use = {"toolUse": {"toolUseId": "t1", "name": "answer", "input": {"a": 1}}}
    results = [{"json": {"ok": True}}, {"text": "fine"}]
    result = {"toolResult": {"toolUseId": "t1", "content": results}}
    turns = [
        user("q"),
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result, {"text": "go on"}]},
    ]
    any_tool = {**forced("answer", ANSWER), "toolChoice": {"any": {}}}
    await server.converse(MODEL, conversation(*turns, toolConfig=any_tool))
    body = json.loads(seen[0].content)
    assert body["tool_choice"] == "required"
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'
    assert body["messages"][2:] == [
        {"role": "tool", "tool_call_id": "t1", "content": '{"ok": true}\nfine'},
        {"role": "user", "content": "go on"},
    ]


def down(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("Connection refused", request=request)


def slow(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("", request=request)


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        (down, "ServiceUnavailableException"),
        (slow, "ModelTimeoutException"),
        (lambda _: httpx.Response(500, text="boom"), "ServiceUnavailableException"),
        (lambda _: httpx.Response(429, text="slow down"), "ThrottlingException"),
        (lambda _: httpx.Response(400, text="bad request"), "ValidationException"),
        (lambda _: httpx.Response(404, text="no such model"), "ResourceNotFoundException"),
        (lambda _: httpx.Response(200, text="<html>"), "ModelErrorException"),
    ],
)
async def test_a_failing_server_fails_loudly_and_names_itself(
    reply: Callable[[httpx.Request], httpx.Response], name: str
) -> None:
    server, _ = replying(reply)
    with pytest.raises(ServiceError) as failed:
        await server.converse(MODEL, ASK)
    assert failed.value.name == name
    assert URL in failed.value.message


async def test_an_answer_without_a_choice_is_a_model_error() -> None:
    server, _ = replying(lambda _: httpx.Response(200, json={"choices": []}))
    with pytest.raises(ServiceError, match="without a choice"):
        await server.converse(MODEL, ASK)


async def test_embeddings_come_back_in_the_order_asked() -> None:
    data = [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]
    server, _ = replying(lambda _: httpx.Response(200, json={"data": data}))
    batch = await server.invoke("amazon.titan", {"texts": ["a", "b"]})
    assert batch["embeddings"] == [[1.0, 0.0], [0.0, 1.0]]


async def test_one_text_is_embedded_in_titans_shape_and_a_zero_vector_is_refused() -> None:
    data = [{"index": 0, "embedding": [0.5]}]
    server, seen = replying(lambda _: httpx.Response(200, json={"data": data}))
    assert await server.invoke("amazon.titan", {"inputText": "a", "dimensions": 1}) == {
        "embedding": [0.5],
        "inputTextTokenCount": 1,
    }
    assert json.loads(seen[0].content)["dimensions"] == 1
    data[0]["embedding"] = [0.0]
    with pytest.raises(ServiceError, match="no usable vector"):
        await server.invoke("amazon.titan", {"inputText": "a"})
    with pytest.raises(ServiceError, match="not blank"):
        await server.invoke("amazon.titan", {"inputText": " "})


def listing(*names: str) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: httpx.Response(200, json={"data": [{"id": name} for name in names]})


async def test_the_check_passes_when_the_server_has_the_models() -> None:
    server, seen = replying(listing("llama3.1:latest", "nomic-embed-text"))
    await server.check()
    assert str(seen[0].url) == f"{URL}/models"


async def test_the_check_names_the_url_and_the_remedy() -> None:
    server, _ = replying(down)
    with pytest.raises(
        ModelServerError, match=r"127\.0\.0\.1:11434/v1 cannot be reached.*Start it"
    ):
        await server.check()
    server, _ = replying(listing("mistral"))
    with pytest.raises(ModelServerError, match=r"no model llama3\.1, nomic.*it has mistral"):
        await server.check()
