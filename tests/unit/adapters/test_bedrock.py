"""Bedrock by the real clients: what is sent, what comes back, what each failure means."""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    EventStreamError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    ProxyConnectionError,
    ReadTimeoutError,
    ResponseStreamingError,
    SSLError,
)

from autoops.adapters import bedrock
from autoops.adapters.bedrock import BedrockChat, BedrockEmbedder, model_error
from autoops.domain.answers import answer_schema
from autoops.domain.contracts import Json, to_json
from autoops.domain.forms import Form
from autoops.domain.model import ModelReply
from autoops.domain.pricing import Tier, Usage
from autoops.domain.structured import Accepted, Rejected, judge
from autoops.errors import (
    AutoOpsError,
    ContextTooLong,
    ModelFaulted,
    ModelMisconfigured,
    ModelNotAllowed,
    ModelThrottled,
    ModelTimedOut,
    ModelUnavailable,
)
from samples import ANSWER, MODEL, request
from unit.adapters.service import Service

COUNTED = {"inputTokens": 30, "outputTokens": 7, "totalTokens": 37}
TITAN = "amazon.titan-embed-text-v2:0"


def converse(content: Json, usage: Json = COUNTED, stop: str = "tool_use") -> Json:
    answer = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop,
        "metrics": {"latencyMs": 5},
    }
    return answer if usage is None else {**answer, "usage": usage}


def called(value: Json, name: str = "answer") -> Json:
    return {"toolUse": {"toolUseId": "t1", "name": name, "input": value}}


def replied(answer: Json) -> ModelReply:
    return BedrockChat(Service().says(answer).client("bedrock-runtime")).converse(request())


def test_the_tools_input_is_the_answer() -> None:
    reply = replied(converse([{"text": "Here:"}, called(ANSWER)]))
    assert (reply.tool_input, reply.text, reply.stop_reason) == (ANSWER, "Here:", "tool_use")
    assert reply.usage == Usage(input=30, output=7)


def test_a_reply_in_prose_is_text_without_tool_input() -> None:
    reply = replied(converse([{"text": "I would "}, {"text": "rather explain."}], stop="end_turn"))
    assert (reply.tool_input, reply.text) == (None, "I would rather explain.")


CACHED = {
    "inputTokens": 562,
    "outputTokens": 100,
    "totalTokens": 3_732,
    "cacheReadInputTokens": 3_059,
    "cacheWriteInputTokens": 11,
}


@pytest.mark.parametrize(
    ("details", "minutes", "hour"),
    [
        (None, 11, 0),
        ([], 11, 0),
        ([{"ttl": "5m", "inputTokens": 11}], 11, 0),
        ([{"ttl": "1h", "inputTokens": 11}], 0, 11),
        ([{"ttl": "5m", "inputTokens": 4}, {"ttl": "1h", "inputTokens": 7}], 4, 7),
        ([{"ttl": "24h", "inputTokens": 11}], 0, 11),
    ],
)
def test_cached_tokens_are_counted_once_and_by_how_long_they_are_kept(
    details: Json, minutes: int, hour: int
) -> None:
    usage = CACHED if details is None else {**CACHED, "cacheDetails": details}
    assert replied(converse([called(ANSWER)], usage)).usage == Usage(
        input=562, output=100, cache_read=3_059, cache_write=minutes, cache_write_hour=hour
    )


def test_the_tier_that_served_is_the_tier_that_is_charged() -> None:
    flex = request().model_copy(update={"tier": "flex"})
    cases: list[tuple[str | None, Tier]] = [
        ("flex", "flex"),
        ("default", "default"),
        (None, "flex"),
    ]
    for served, counted in cases:
        answer = converse([called(ANSWER)])
        if served is not None:
            answer["serviceTier"] = {"type": served}
        service = Service().says(answer)
        usage = BedrockChat(service.client("bedrock-runtime")).converse(flex).usage
        assert usage == Usage(input=30, output=7, tier=counted)
        assert service.requests[0]["serviceTier"] == {"type": "flex"}


@pytest.mark.parametrize("served", ["priority", "turbo"])
def test_a_tier_that_was_not_asked_for_has_no_known_price(served: str) -> None:
    answer = {**converse([called(ANSWER)]), "serviceTier": {"type": served}}
    assert replied(answer).usage is None


ARNS = [
    "arn:aws:bedrock:us-east-1:111122223333:inference-profile/us.amazon.nova-lite-v1:0",
    "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
    "arn:aws:bedrock:us-east-1:111122223333:application-inference-profile/abc123",
]


@pytest.mark.parametrize("arn", ARNS)
def test_a_model_is_asked_by_the_id_that_it_was_given(arn: str) -> None:
    service = Service().says(converse([called(ANSWER)]))
    reply = BedrockChat(service.client("bedrock-runtime")).converse(request(model=arn))
    assert reply.tool_input == ANSWER
    assert quote(arn, safe="") in service.paths[0]
    assert "serviceTier" not in service.requests[0], "not every model takes one"


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0},
        {"inputTokens": 30, "totalTokens": 30},
        {"outputTokens": 7, "totalTokens": 7},
        {"inputTokens": -30, "outputTokens": 7, "totalTokens": -23},
    ],
)
def test_usage_that_is_not_said_is_unknown_and_not_nothing(usage: Json) -> None:
    reply = replied(converse([called(ANSWER)], usage))
    assert reply.usage is None
    assert reply.tool_input == ANSWER


@pytest.mark.parametrize(
    "content", [[], None, [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}]]
)
def test_a_reply_without_an_answer_is_empty_and_its_usage_counts(content: Json) -> None:
    reply = replied(converse(content, stop="end_turn"))
    assert (reply.text, reply.tool_input, reply.usage) == ("", None, Usage(input=30, output=7))


def test_a_blocked_reply_keeps_its_stop_reason_and_usage() -> None:
    blocked = converse([{"text": "Sorry, blocked."}], stop="guardrail_intervened")
    assert replied(blocked).stop_reason == "guardrail_intervened"
    assert replied(blocked).usage == Usage(input=30, output=7)


def test_two_different_answers_are_not_settled_by_their_order() -> None:
    other = {**ANSWER, "text": "Another."}
    reply = replied(converse([called(ANSWER), called(other)]))
    verdict = judge(reply, "CitedAnswer")
    assert isinstance(verdict, Rejected)
    assert "several different answers" in verdict.violations[0]


def test_the_same_answer_called_twice_is_one_answer() -> None:
    assert replied(converse([called(ANSWER), called(ANSWER)])).tool_input == ANSWER


def test_another_tool_is_not_the_answer() -> None:
    assert replied(converse([called({"sum": 1}, "pay")])).tool_input is None


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), "half \ud83d", {"\ud83d": 1}])
def test_an_answer_that_no_store_can_keep_is_kept_and_judged_as_text(odd: Json) -> None:
    reply = replied(converse([called({**ANSWER, "text": odd})]))
    assert reply.tool_input is None
    assert ModelReply.model_validate_json(to_json(reply)) == reply
    verdict = judge(reply, "CitedAnswer")
    assert isinstance(verdict, Rejected)
    assert verdict.violations[0].startswith("text")


def replied_with(tool_input: str) -> ModelReply:
    """The reply to an answer whose tool input is this JSON text."""
    body = json.dumps(converse([called("CANARY")])).replace('"CANARY"', tool_input)
    return BedrockChat(Service([(200, body.encode())]).client("bedrock-runtime")).converse(
        request()
    )


def test_fields_given_twice_in_tool_input_are_refused_with_their_paths() -> None:
    quotes = '[{"passage":"p1","quote":"a","quote":"b"}]'
    twice = f'{{"answered":true,"answered":false,"text":"x","citations":{quotes}}}'
    reply = replied_with(twice)
    assert (reply.tool_input, reply.text) == (None, twice)
    verdict = judge(reply, "CitedAnswer")
    assert isinstance(verdict, Rejected)
    assert {violation.split(":")[0] for violation in verdict.violations} == {
        "answered",
        "citations.0.quote",
    }


@pytest.mark.parametrize(
    ("price", "whole"),
    [("12.50", True), ("3", True), ("9" * 40, True), ("12345678901234567.89", False)],
)
def test_a_number_in_tool_input_keeps_all_its_digits(price: str, whole: bool) -> None:
    reply = replied_with(f'{{"price":{price}}}')
    assert (reply.tool_input is not None) is whole
    assert Decimal(str(reply.tool_input["price"]) if whole else reply.text[9:-1]) == Decimal(price)


def test_a_client_is_left_as_it_was() -> None:
    service = Service().says(converse([called(ANSWER)]), converse([called({"text": 1})]))
    chat = BedrockChat(service.client("bedrock-runtime"))
    assert chat.converse(request()).tool_input == ANSWER
    assert chat.converse(request()).tool_input == {"text": 1}
    events = chat._runtime.meta.events
    assert events.emit("before-parse.bedrock-runtime.Converse", response_dict={}) == []


def test_half_a_character_in_text_does_not_lose_the_reply() -> None:
    reply = replied(converse([{"text": "done \ud83d"}], stop="end_turn"))
    assert reply.text == "done \ufffd"


@pytest.mark.parametrize("value", [json.dumps(ANSWER), [ANSWER]])
def test_tool_input_that_is_no_object_is_judged_as_it_came(value: Json) -> None:
    reply = replied(converse([called(value)]))
    assert reply.tool_input == value
    assert isinstance(judge(reply, "CitedAnswer"), Accepted) == isinstance(value, str)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"<html>",
        b'{"output": {"message"',
        b'{"output":{}}',
        b'{"output": "\xff"}',
        b'{"output": ' + b"[" * 100_000,
    ],
)
def test_an_answer_cut_off_on_its_way_may_have_been_charged(body: bytes) -> None:
    service = Service([(200, body)])
    with pytest.raises((ModelFaulted, ModelTimedOut)):
        BedrockChat(service.client("bedrock-runtime")).converse(request())


def test_one_call_is_one_request_with_the_contract_as_a_tool() -> None:
    service = Service().says(converse([called(ANSWER)]))
    BedrockChat(service.client("bedrock-runtime")).converse(request())
    (sent,) = service.requests
    assert sent["system"] == [{"text": "You answer from the passages alone."}]
    assert [block["text"] for block in sent["messages"][0]["content"]] == list(
        request().messages[0].blocks
    )
    (tool,) = sent["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "answer"
    assert sent["inferenceConfig"] == {"maxTokens": 800, "temperature": 0.0}


def sent(model: str) -> Json:
    service = Service().says(converse([called(ANSWER)]))
    BedrockChat(service.client("bedrock-runtime")).converse(request(model=model))
    (body,) = service.requests
    return body


def test_a_strict_tool_goes_out_where_the_model_enforces_schemas() -> None:
    body = sent("us.anthropic.claude-haiku-4-5-20251001-v1:0")
    (tool,) = body["toolConfig"]["tools"]
    assert tool["toolSpec"]["strict"] is True
    assert body["toolConfig"]["toolChoice"] == {"tool": {"name": "answer"}}
    schema = tool["toolSpec"]["inputSchema"]["json"]
    assert schema["additionalProperties"] is False
    assert "minLength" not in json.dumps(schema), "an enforcing grammar refuses lengths"
    assert "outputConfig" not in body


def test_no_more_output_is_asked_for_than_was_reserved() -> None:
    service = Service().says(converse([called(ANSWER)]))
    absurd = request().model_copy(update={"max_tokens": 64_000})
    BedrockChat(service.client("bedrock-runtime")).converse(absurd)
    assert service.requests[0]["inferenceConfig"]["maxTokens"] == 10_000


def test_a_plain_tool_keeps_the_whole_schema() -> None:
    (tool,) = sent(MODEL)["toolConfig"]["tools"]
    assert "strict" not in tool["toolSpec"]
    assert tool["toolSpec"]["inputSchema"]["json"] == answer_schema("CitedAnswer")


def test_a_model_with_schemas_for_text_alone_gets_the_schema_as_output_config(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bedrock, "form_for", lambda _: Form.JSON_SCHEMA)
    body = sent(MODEL)
    text = body["outputConfig"]["textFormat"]
    assert text["type"] == "json_schema"
    assert json.loads(text["structure"]["jsonSchema"]["schema"])["additionalProperties"] is False
    assert "toolConfig" not in body


def test_a_model_that_nobody_described_gets_the_schema_as_text() -> None:
    body = sent("vendor.unknown-v1:0")
    assert "toolConfig" not in body
    assert "outputConfig" not in body
    assert json.dumps(answer_schema("CitedAnswer")) in body["system"][0]["text"]


def test_a_call_of_the_tool_without_input_is_judged_as_text() -> None:
    block = {"toolUse": {"toolUseId": "t1", "name": "answer"}}
    reply = replied(converse([block]))
    assert reply.tool_input is None
    assert isinstance(judge(reply, "CitedAnswer"), Rejected)


def test_an_error_inside_a_stream_means_what_it_means_outside() -> None:
    for name, ours in (
        ("modelStreamErrorException", ModelUnavailable),
        ("throttlingException", ModelThrottled),
        ("modelTimeoutException", ModelTimedOut),
    ):
        broken = EventStreamError({"Error": {"Code": name, "Message": "x"}}, "ConverseStream")
        assert type(model_error(broken)) is ours


CODES = [
    ("ThrottlingException", 429, ModelThrottled),
    ("ServiceUnavailableException", 503, ModelUnavailable),
    ("InternalServerException", 500, ModelUnavailable),
    ("ModelNotReadyException", 429, ModelUnavailable),
    ("ModelStreamErrorException", 424, ModelUnavailable),
    ("ModelTimeoutException", 408, ModelTimedOut),
    ("ModelErrorException", 424, ModelFaulted),
    ("ValidationException", 400, ModelMisconfigured),
    ("AccessDeniedException", 403, ModelNotAllowed),
    ("ResourceNotFoundException", 404, ModelMisconfigured),
    ("ServiceQuotaExceededException", 400, ModelMisconfigured),
    ("UnrecognizedClientException", 403, ModelMisconfigured),
    ("ExpiredTokenException", 403, ModelMisconfigured),
    ("Throttling", 400, ModelThrottled),
    ("TooManyRequestsException", 429, ModelThrottled),
    ("SomethingNewException", 429, ModelThrottled),
    ("SomethingNewException", 500, ModelUnavailable),
    ("SomethingNewException", 400, ModelMisconfigured),
]


@pytest.mark.parametrize(("code", "status", "ours"), CODES)
def test_each_refusal_of_bedrock_is_one_of_our_errors(
    code: str, status: int, ours: type[AutoOpsError]
) -> None:
    service = Service().fails(code, status)
    with pytest.raises(ours, match=code) as raised:
        BedrockChat(service.client("bedrock-runtime")).converse(request())
    assert type(raised.value) is ours
    assert len(service.requests) == 1, "one attempt; the state machine repeats it"


@pytest.mark.parametrize(
    ("status", "ours"),
    [
        (429, ModelThrottled),
        (500, ModelUnavailable),
        (502, ModelTimedOut),
        (503, ModelUnavailable),
        (504, ModelTimedOut),
    ],
)
def test_a_gateways_answer_in_no_known_form_says_whether_the_request_went_on(
    status: int, ours: type[AutoOpsError]
) -> None:
    service = Service([(status, b"<html>bad gateway</html>")])
    with pytest.raises(AutoOpsError) as raised:
        BedrockChat(service.client("bedrock-runtime")).converse(request())
    assert type(raised.value) is ours


@pytest.mark.parametrize(
    ("message", "ours", "advice"),
    [
        ("Input is too long for requested model.", ContextTooLong, "fewer passages"),
        ("Too many input tokens: 40000 > 32768", ContextTooLong, "fewer passages"),
        ("Input Tokens Exceeded: Number of input tokens", ContextTooLong, "fewer passages"),
        ("on-demand throughput is not supported", ModelMisconfigured, "inference profile"),
    ],
)
def test_a_refused_request_says_what_to_do(
    message: str, ours: type[AutoOpsError], advice: str
) -> None:
    service = Service().fails("ValidationException", 400, message)
    with pytest.raises(ours, match=advice):
        BedrockChat(service.client("bedrock-runtime")).converse(request())


def test_what_bedrock_says_of_the_content_does_not_reach_the_message() -> None:
    service = Service().fails("ValidationException", 400, "messages.0: 'canary' is not allowed")
    with pytest.raises(ModelMisconfigured) as raised:
        BedrockChat(service.client("bedrock-runtime")).converse(request())
    assert "canary" not in str(raised.value)


URL: dict[str, Any] = {"endpoint_url": "http://127.0.0.1", "error": "x"}


def tls(said: str) -> SSLError:
    return SSLError(endpoint_url="http://127.0.0.1", error=OSError(said))


BROKEN: list[tuple[Exception, type[AutoOpsError]]] = [
    (ReadTimeoutError(**URL), ModelTimedOut),
    (ConnectionClosedError(**URL), ModelTimedOut),
    (ResponseStreamingError(**URL), ModelTimedOut),
    (HTTPClientError(**URL), ModelTimedOut),
    (IncompleteReadError(actual_bytes=1, expected_bytes=2), ModelTimedOut),
    (ConnectTimeoutError(**URL), ModelUnavailable),
    (EndpointConnectionError(**URL), ModelUnavailable),
    (ProxyConnectionError(proxy_url="http://127.0.0.1", **URL), ModelUnavailable),
    (tls("[SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired"), ModelUnavailable),
    (tls("EOF occurred in violation of protocol"), ModelTimedOut),
    (NoCredentialsError(), ModelMisconfigured),
]


@pytest.mark.parametrize(("broken", "ours"), BROKEN, ids=lambda value: type(value).__name__)
def test_only_a_call_that_was_never_sent_counts_as_not_charged(
    broken: Exception, ours: type[AutoOpsError]
) -> None:
    assert type(model_error(broken)) is ours
    service = Service([broken])
    with pytest.raises(ours):
        BedrockChat(service.client("bedrock-runtime")).converse(request())


def titan(*rows: list[float]) -> list[Json]:
    return [{"embedding": row, "inputTextTokenCount": 3} for row in rows]


def embedder(service: Service, model: str = TITAN) -> BedrockEmbedder:
    return BedrockEmbedder(service.client("bedrock-runtime"), model, 2)


def test_titan_takes_one_text_a_request_and_its_tokens_add_up() -> None:
    service = Service().says(*titan([1.0, 0.0], [0.0, 1.0]))
    made = embedder(service).embed(["a", "b"])
    assert made.vectors.rows() == ((1.0, 0.0), (0.0, 1.0))
    assert made.usage == Usage(input=6)
    assert [sent["inputText"] for sent in service.requests] == ["a", "b"]
    assert service.requests[0]["dimensions"] == 2


def test_cohere_takes_ninety_six_texts_a_request_and_tells_no_tokens() -> None:
    service = Service().says(
        {"embeddings": [[1.0, 0.0]] * 96}, {"embeddings": {"float": [[0.0, 1.0]]}}
    )
    made = embedder(service, "cohere.embed-english-v3").embed(["a"] * 97)
    assert len(made.vectors.rows()) == 97
    assert made.usage is None


def test_a_batch_refused_at_its_first_text_was_not_charged() -> None:
    service = Service().fails("ThrottlingException", 429)
    with pytest.raises(ModelThrottled):
        embedder(service).embed(["a", "b"])


@pytest.mark.parametrize("code", ["ThrottlingException", "ValidationException"])
def test_a_batch_that_broke_off_was_charged_for_what_came_before(code: str) -> None:
    service = Service().says(*titan([1.0, 0.0])).fails(code, 400)
    with pytest.raises(ModelFaulted, match="after 1 requests of the batch"):
        embedder(service).embed(["a", "b"])


def test_vectors_cut_off_on_their_way_may_have_been_charged() -> None:
    with pytest.raises(ModelFaulted, match="cannot be read"):
        embedder(Service([(200, b'{"embedding": [0.')])).embed(["a"])


@pytest.mark.parametrize("answer", [{}, {"embeddings": None}, {"embeddings": {"int8": [[1]]}}])
def test_an_answer_without_vectors_was_charged_all_the_same(answer: Json) -> None:
    with pytest.raises(ModelFaulted, match="no vectors"):
        embedder(Service().says(answer)).embed(["a"])
