"""A claim reserves what no call can pass, and tells one request from another."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.domain.answers import schema_bytes
from autoops.domain.claims import claim_for_request, claim_for_texts
from autoops.domain.model import PER_MESSAGE_TOKENS, REQUEST_TOKENS, Message, ModelRequest
from autoops.domain.pricing import Usage, price_of
from autoops.errors import UnpricedModel
from samples import CALL, MODEL, request

EMBEDDER = "amazon.titan-embed-text-v2:0"
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)


def bytes_of(text: str) -> int:
    return len(text.encode())


@given(st.lists(texts, min_size=1, max_size=6), texts)
def test_a_question_never_holds_more_tokens_than_the_bound(blocks: list[str], system: str) -> None:
    asked = request().model_copy(
        update={"system": system, "messages": (Message(role="user", blocks=tuple(blocks)),)}
    )
    sent = bytes_of(system) + sum(map(bytes_of, blocks)) + schema_bytes("CitedAnswer")
    bound = asked.input_bound(schema_bytes("CitedAnswer"))
    assert bound >= sent + PER_MESSAGE_TOKENS * len(blocks) + REQUEST_TOKENS
    actual = price_of(MODEL).actual(Usage(input=sent, output=asked.max_tokens))
    assert claim_for_request(CALL, asked).worst >= actual


@given(st.lists(texts, min_size=1, max_size=300))
def test_texts_to_embed_never_hold_more_tokens_than_the_bound(parts: list[str]) -> None:
    marks = 2 * len(parts)
    worst = claim_for_texts(CALL, EMBEDDER, parts).worst
    assert worst >= price_of(EMBEDDER).actual(Usage(input=sum(map(bytes_of, parts)) + marks))


def test_a_claim_holds_no_more_output_than_the_model_makes() -> None:
    most = request().model_copy(update={"max_tokens": 10_000})
    absurd = request().model_copy(update={"max_tokens": 64_000})
    assert claim_for_request(CALL, absurd).worst == claim_for_request(CALL, most).worst


def test_a_claim_holds_no_more_input_than_the_model_takes() -> None:
    price = price_of(MODEL)
    endless = request("x" * 2 * price.context)
    full = price.worst_case(price.context, endless.max_tokens)
    assert claim_for_request(CALL, endless).worst == full


def test_a_tier_without_rates_claims_nothing() -> None:
    with pytest.raises(UnpricedModel, match="priority"):
        claim_for_request(CALL, request().model_copy(update={"tier": "priority"}))


def test_many_short_texts_are_bounded_with_what_frames_each() -> None:
    usage = Usage(input=2_000 * PER_MESSAGE_TOKENS)
    assert claim_for_texts(CALL, EMBEDDER, ["a"] * 2_000).worst >= price_of(EMBEDDER).actual(usage)


def test_the_same_request_has_the_same_fingerprint() -> None:
    assert claim_for_request(CALL, request()) == claim_for_request(CALL, request())
    assert claim_for_texts(CALL, EMBEDDER, ["a"]) == claim_for_texts(CALL, EMBEDDER, ("a",))


CHANGES: dict[str, Callable[[ModelRequest], ModelRequest]] = {
    "model": lambda asked: asked.model_copy(update={"model": "us.amazon.nova-pro-v1:0"}),
    "prompt version": lambda asked: asked.model_copy(
        update={"prompt": asked.prompt.model_copy(update={"version": 2})}
    ),
    "system": lambda asked: asked.model_copy(update={"system": "Other."}),
    "messages": lambda asked: asked.model_copy(
        update={"messages": (Message(role="user", blocks=("Other?",)),)}
    ),
    "blocks": lambda asked: asked.model_copy(
        update={"messages": (Message(role="user", blocks=("a", "b")),)}
    ),
    "temperature": lambda asked: asked.model_copy(update={"temperature": 0.5}),
    "max_tokens": lambda asked: asked.model_copy(update={"max_tokens": 801}),
    "tier": lambda asked: asked.model_copy(update={"tier": "reserved"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_decides_the_answer_decides_the_fingerprint(change: str) -> None:
    changed = CHANGES[change](request())
    same = claim_for_request(CALL, request()).fingerprint
    assert claim_for_request(CALL, changed).fingerprint != same


def test_text_moved_between_blocks_is_another_request() -> None:
    one = request().model_copy(update={"messages": (Message(role="user", blocks=("ab", "c")),)})
    two = request().model_copy(update={"messages": (Message(role="user", blocks=("a", "bc")),)})
    assert claim_for_request(CALL, one).fingerprint != claim_for_request(CALL, two).fingerprint


def test_an_unpriced_model_claims_nothing() -> None:
    with pytest.raises(UnpricedModel):
        claim_for_request(CALL, request(model="vendor.new-model-v9:0"))
    with pytest.raises(UnpricedModel):
        claim_for_texts(CALL, "vendor.new-embedder", ["a"])
