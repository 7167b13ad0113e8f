"""A request is counted as it will be sent, and where it cannot be counted, its bytes bound it."""

import pytest
from botocore.exceptions import ReadTimeoutError

from autoops.adapters import aws
from autoops.adapters.bedrock import BedrockChat
from autoops.adapters.counting import BedrockTokens, converse_input
from autoops.domain.claims import claim_for_request
from autoops.domain.model import REQUEST_TOKENS
from autoops.domain.pricing import price_of
from autoops.domain.structured import correction
from fakes import text
from samples import ANSWER, CALL, MODEL, request
from unit.adapters.service import Service
from unit.adapters.test_bedrock import called, converse

CLAUDE = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


def tokens(service: Service) -> BedrockTokens:
    return BedrockTokens(service.client("bedrock-runtime"))


@pytest.mark.parametrize("model", [CLAUDE, MODEL, "vendor.unknown-v1:0"])
def test_what_is_counted_is_what_is_sent(model: str) -> None:
    service = Service().says(converse([called(ANSWER)]))
    asked = correction(request(model=model), text("Hm. \n"), ("text: missing",))
    BedrockChat(service.client("bedrock-runtime")).converse(asked)
    sent = {name: service.requests[0].get(name) for name in ("messages", "system", "toolConfig")}
    counted = converse_input(asked)
    assert {name: counted.get(name) for name in sent} == sent


def test_a_profile_is_counted_by_its_foundation_model() -> None:
    service = Service().says({"inputTokens": 321})
    assert tokens(service).count(request(model=CLAUDE)) == 321
    assert "/model/anthropic.claude-haiku-4-5-20251001-v1%3A0/count-tokens" in service.paths[0]


def test_a_model_that_cannot_count_is_not_asked() -> None:
    service = Service()
    assert tokens(service).count(request(model=MODEL)) is None
    assert service.requests == []


FAILING = [
    Service().fails("ThrottlingException", 429),
    Service().fails("AccessDeniedException", 403),
    Service().fails("ValidationException", 400, "The provided model doesn't support counting"),
    Service([ReadTimeoutError(endpoint_url="http://127.0.0.1")]),
    Service([(200, b"\xff")]),
    Service().says({}),
    Service().says({"inputTokens": 0}),
]


@pytest.mark.parametrize("service", FAILING)
def test_a_count_that_failed_leaves_the_bound_in_bytes(service: Service) -> None:
    assert tokens(service).count(request(model=CLAUDE)) is None
    assert len(service.requests) == 1


@pytest.mark.parametrize(("counted", "tighter"), [(40, True), (10**9, False)])
def test_a_count_makes_a_claim_tighter_and_never_wider(counted: int, tighter: bool) -> None:
    asked = request("Why? " * 2_000, model=CLAUDE)
    by_bytes = claim_for_request(CALL, asked)
    by_count = claim_for_request(CALL, asked, counted)
    assert (by_count.worst < by_bytes.worst) is tighter
    assert by_count.worst <= by_bytes.worst
    assert by_count.fingerprint == by_bytes.fingerprint, "how it was bounded makes no other call"
    if tighter:
        margin = price_of(CLAUDE).worst_case(counted + REQUEST_TOKENS, asked.max_tokens)
        assert by_count.worst == margin


def test_a_counter_waits_no_longer_than_other_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    made = aws._client.__wrapped__("bedrock-runtime", aws.READ_SECONDS)
    assert made.meta.config.read_timeout == aws.READ_SECONDS < aws.MODEL_READ_SECONDS
    assert made.meta.config.retries["total_max_attempts"] == 1
