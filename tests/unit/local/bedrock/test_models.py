from typing import Any

import pytest

from local.bedrock.models import EXTRACTIVE, Models
from local.bedrock.scripts import Scripted
from local.rest import ServiceError
from unit.local.bedrock.conversations import ANSWER, conversation, forced, now, user

MODEL = "anthropic.claude-scripted"
ASK = conversation(user("q"), toolConfig=forced("answer", ANSWER))


class Echo:
    def __init__(self) -> None:
        self.calls = 0

    async def converse(self, model_id: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        text = {"text": f"{model_id} heard {len(request['messages'])}"}
        return {
            "output": {"message": {"role": "assistant", "content": [text]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        }


def content(document: dict[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = document["output"]["message"]["content"]
    return blocks


async def test_bad_json_twice_then_a_valid_input_is_three_calls_in_order() -> None:
    models = Models(now=now)
    models.script(
        MODEL, [Scripted(text="{bad"), Scripted(text="{worse"), Scripted(input={"answered": False})]
    )
    answers = [(await models.converse("converse", MODEL, ASK)).document for _ in range(3)]
    assert [content(answer)[0].get("text") for answer in answers] == ["{bad", "{worse", None]
    assert content(answers[2])[0]["toolUse"]["name"] == "answer"
    assert [answer["stopReason"] for answer in answers] == ["end_turn", "end_turn", "tool_use"]
    assert [request.operation for request in models.requests] == ["converse"] * 3
    assert models.requests[0].time == now()
    assert models.scripted_left(MODEL) == 0


async def test_asking_once_too_often_is_told_plainly() -> None:
    models = Models(now=now)
    models.script(MODEL, [Scripted(text="only one")])
    await models.converse("converse", MODEL, ASK)
    with pytest.raises(ServiceError, match="once too often"):
        await models.converse("converse", MODEL, ASK)


async def test_an_unknown_model_is_refused_and_the_known_are_named() -> None:
    models = Models(now=now)
    models.serve_chat("local.echo", Echo())
    with pytest.raises(ServiceError, match=r"identifier is invalid.*local\.echo") as refused:
        await models.converse("converse", "nobody.model", ASK)
    assert refused.value.status == 400


async def test_faults_come_before_or_after_the_model_did_its_work() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    echo, models = Echo(), Models(now=now, sleep=sleep)
    models.serve_chat("local.echo", echo)
    replies = [Scripted(error="ThrottlingException", delay=2), Scripted(fault="kill"), Scripted()]
    models.script("local.echo", replies)
    with pytest.raises(ServiceError) as throttled:
        await models.converse("converse", "local.echo", ASK)
    assert (throttled.value.status, slept, echo.calls) == (429, [2], 0)
    killed = await models.converse("converse", "local.echo", ASK)
    assert (killed.fault, echo.calls) == ("kill", 1)
    clean = await models.converse("converse", "local.echo", ASK)
    assert (clean.fault, content(clean.document)) == (None, [{"text": "local.echo heard 1"}])


async def test_a_truncated_reply_stops_with_max_tokens_and_has_lost_its_end() -> None:
    models = Models(now=now)
    models.script(
        MODEL,
        [
            Scripted(text='{"approved_total": 12900}', fault="truncate"),
            Scripted(input={"answered": True, "text": "a"}, fault="truncate"),
        ],
    )
    text = (await models.converse("converse", MODEL, ASK)).document
    assert text["stopReason"] == "max_tokens"
    assert content(text) == [{"text": '{"approved_t'}]
    tool = (await models.converse("converse", MODEL, ASK)).document
    assert content(tool)[0]["toolUse"]["input"] == {"answered": True}


async def test_a_raw_output_goes_out_as_it_is() -> None:
    raw = {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "end_turn"}
    models = Models(now=now)
    models.script(MODEL, [Scripted(output=raw)])
    answer = await models.converse("converse", MODEL, ASK)
    assert answer.document == {**raw, "metrics": {"latencyMs": 0}}


async def test_a_refused_conversation_uses_up_its_reply_as_a_call_would() -> None:
    models = Models(now=now)
    models.script(MODEL, [Scripted(text="a")])
    with pytest.raises(ServiceError, match="at least one message"):
        await models.converse("converse", MODEL, {})


async def test_tool_use_ids_are_the_same_in_every_run() -> None:
    seen = set()
    for _ in range(2):
        models = Models(now=now)
        models.script(MODEL, [Scripted(input={"answered": True})])
        answer = (await models.converse("converse", MODEL, ASK)).document
        seen.add(content(answer)[0]["toolUse"]["toolUseId"])
    assert len(seen) == 1


async def test_embeddings_can_be_scripted_and_chat_models_refuse_invoke() -> None:
    models = Models(now=now)
    models.serve_chat("local.echo", Echo())
    models.script("amazon.titan", [Scripted(output={"embedding": [1.0]})])
    assert (await models.invoke("amazon.titan", {"inputText": "a"})).document["embedding"] == [1.0]
    models.script("local.echo", [Scripted()])
    with pytest.raises(ServiceError, match="answers Converse only"):
        await models.invoke("local.echo", {"inputText": "a"})


def test_tokens_are_counted_only_where_the_count_is_ours() -> None:
    models = Models(now=now)
    counted = models.count_tokens(EXTRACTIVE, {"input": {"converse": ASK}})
    assert counted["inputTokens"] > 1
    with pytest.raises(ServiceError, match="doesn't support counting"):
        models.count_tokens("mapped.model", {"input": {"converse": ASK}})
    with pytest.raises(ServiceError, match="only the converse form"):
        models.count_tokens(EXTRACTIVE, {"input": {"invokeModel": {"body": ""}}})


async def test_forgetting_drops_scripts_and_requests() -> None:
    models = Models(now=now)
    models.script(MODEL, [Scripted(text="a"), Scripted(text="b")])
    await models.converse("converse", MODEL, ASK)
    models.forget()
    assert models.requests == []
    assert models.scripted_left(MODEL) == 0
