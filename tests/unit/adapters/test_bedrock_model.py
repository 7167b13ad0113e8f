"""What boto3's service model says that Bedrock may answer is known here; what is new is noticed."""

from typing import Any, get_args

import pytest
from botocore.session import get_session

from autoops.domain.pricing import Tier
from autoops.domain.structured import GOOD_STOPS, check_stop
from autoops.errors import ContentBlocked, ModelFaulted, OutputTruncated
from fakes import tool
from samples import ANSWER

NO_ANSWER = {
    "max_tokens": OutputTruncated,
    "model_context_window_exceeded": OutputTruncated,
    "guardrail_intervened": ContentBlocked,
    "content_filtered": ContentBlocked,
}


def enumeration(name: str) -> list[str]:
    shape: Any = get_session().get_service_model("bedrock-runtime").shape_for(name)
    values: list[str] = shape.enum
    return values


def test_every_stop_reason_of_bedrock_is_an_answer_or_names_why_it_is_none() -> None:
    assert {*GOOD_STOPS, *NO_ANSWER} == set(enumeration("StopReason"))


@pytest.mark.parametrize("reason", [*enumeration("StopReason"), "", "END_TURN", "refusal"])
def test_the_stop_reason_decides_before_anything_is_read(reason: str) -> None:
    reply = tool(ANSWER, stop_reason=reason)
    if reason in GOOD_STOPS:
        check_stop(reply)
        return
    with pytest.raises(NO_ANSWER.get(reason, ModelFaulted)):
        check_stop(reply)


def test_every_service_tier_of_bedrock_can_be_asked_for_and_priced() -> None:
    assert set(get_args(Tier)) == set(enumeration("ServiceTierType"))


def test_the_cache_keeps_as_long_as_there_are_prices_for() -> None:
    assert set(enumeration("CacheTTL")) == {"5m", "1h"}, "a time that is new counts as an hour"
