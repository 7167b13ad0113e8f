from typing import TYPE_CHECKING, cast
from urllib.parse import quote

import httpx
import pytest
from botocore.eventstream import EventStreamBuffer

from local.asgi import Message
from local.bedrock.app import bedrock_app
from local.bedrock.errors import STATUSES
from local.bedrock.models import Models
from local.bedrock.scripts import Scripted
from unit.local.bedrock.conversations import conversation, now, user

if TYPE_CHECKING:
    from local.rest import JsonObject

MODEL = "scripted.model-v1:0"
ASK = conversation(user("q"))


async def post(
    models: Models, path: str, body: object = ASK, method: str = "POST"
) -> httpx.Response:
    transport = httpx.ASGITransport(bedrock_app(models))
    async with httpx.AsyncClient(transport=transport, base_url="http://bedrock") as client:
        return await client.request(method, path, json=body)


@pytest.mark.parametrize("name", STATUSES)
async def test_every_error_has_its_name_and_status(name: str) -> None:
    models = Models(now=now)
    models.script(MODEL, [Scripted(error=name, message="so it is")])
    response = await post(models, f"/model/{MODEL}/converse")
    assert response.status_code == STATUSES[name]
    assert response.headers["x-amzn-errortype"] == name
    assert response.json() == {"message": "so it is"}


async def test_a_model_named_by_arn_is_found() -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"
    models = Models(now=now)
    models.script(arn, [Scripted(text="found")])
    response = await post(models, f"/model/{quote(arn, safe='')}/converse")
    assert response.json()["output"]["message"]["content"] == [{"text": "found"}]


@pytest.mark.parametrize("path", ["/", "/model/converse", f"/model/{MODEL}/dance", "/other"])
async def test_an_unknown_path_is_no_operation(path: str) -> None:
    response = await post(Models(now=now), path)
    assert (response.status_code, response.headers["x-amzn-errortype"]) == (
        404,
        "UnknownOperationException",
    )


async def test_a_body_that_is_no_object_is_refused() -> None:
    response = await post(Models(now=now), f"/model/{MODEL}/converse", [])
    assert response.status_code == 400
    assert "Malformed input request" in response.json()["message"]


async def test_bad_json_is_half_a_document_with_status_200() -> None:
    models = Models(now=now)
    models.script(MODEL, [Scripted(text="a", fault="bad_json")])
    response = await post(models, f"/model/{MODEL}/converse")
    assert response.status_code == 200
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        response.json()


async def messages_of(models: Models, path: str) -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {
            "type": "http.request",
            "body": b'{"messages":[{"role":"user","content":[{"text":"q"}]}]}',
        }

    async def send(message: Message) -> None:
        sent.append(message)

    scope: JsonObject = {"type": "http", "method": "POST", "path": path}
    await bedrock_app(models)(scope, receive, send)
    return sent


async def test_a_killed_answer_never_ends() -> None:
    models = Models(now=now)
    models.script(MODEL, [Scripted(text="a", fault="kill")])
    start, body = await messages_of(models, f"/model/{MODEL}/converse")
    assert b"content-length" not in dict(start["headers"])
    assert body["more_body"]


async def events(reply: Scripted) -> list[str]:
    models = Models(now=now)
    models.script(MODEL, [reply])
    sent = await messages_of(models, f"/model/{MODEL}/converse-stream")
    buffer = EventStreamBuffer()
    buffer.add_data(b"".join(message.get("body", b"") for message in sent))
    headers = [cast("dict[str, str]", message.headers) for message in buffer]
    return [h.get(":event-type") or f"!{h[':exception-type']}" for h in headers]


async def test_only_a_whole_stream_ends_with_message_stop() -> None:
    whole = await events(Scripted(text="The total is 1"))
    broken = await events(Scripted(text="The total is 1", fault="kill"))
    failed = await events(Scripted(text="The total is 1", fault="stream_error"))
    named = await events(Scripted(text="a", fault="stream_error", error="ThrottlingException"))
    assert whole[-2:] == ["messageStop", "metadata"]
    assert broken[0] == "messageStart"
    assert "messageStop" not in broken
    assert failed[-1] == "!modelStreamErrorException"
    assert named[-1] == "!throttlingException"


async def test_a_stream_error_on_plain_converse_is_that_error() -> None:
    models = Models(now=now)
    models.script(MODEL, [Scripted(text="a", fault="stream_error")])
    response = await post(models, f"/model/{MODEL}/converse")
    assert response.headers["x-amzn-errortype"] == "ModelStreamErrorException"


async def test_scripts_are_laid_down_and_requests_read_over_http() -> None:
    models = Models(now=now)
    laid = await post(models, f"/_local/scripts/{MODEL}", [{"text": "hi"}], method="PUT")
    assert laid.json() == {"replies": 1}
    answer = await post(models, f"/model/{MODEL}/converse")
    assert answer.json()["output"]["message"]["content"] == [{"text": "hi"}]
    told = (await post(models, "/_local/requests", None, method="GET")).json()["requests"]
    assert told == [
        {"operation": "converse", "modelId": MODEL, "body": ASK, "time": now().isoformat()}
    ]
    await post(models, "/_local/scripts", None, method="DELETE")
    assert models.requests == []
    assert (await post(models, "/_local/nothing", None, method="GET")).status_code == 404


async def test_tokens_are_counted_over_http() -> None:
    response = await post(
        Models(now=now), "/model/local.extractive-v1/count-tokens", {"input": {"converse": ASK}}
    )
    assert response.json() == {"inputTokens": 4}


async def test_lifespan_is_accepted() -> None:
    sent: list[str] = []
    asked = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> Message:
        return {"type": next(asked)}

    async def send(message: Message) -> None:
        sent.append(message["type"])

    await bedrock_app(Models(now=now))({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
