"""What calls cost: each kind of token by its own price, unknown models never for nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.domain.money import dollars
from autoops.domain.pricing import Price, Usage, price_of, price_table
from autoops.errors import UnpricedModel

SONNET = Price(
    input=3_000_000_000,
    output=15_000_000_000,
    cache_read=300_000_000,
    cache_write=3_750_000_000,
    context=200_000,
)
tokens = st.integers(0, 300_000)
usages = st.builds(Usage, input=tokens, output=tokens, cache_read=tokens, cache_write=tokens)
models = st.sampled_from(sorted(set(price_table()) - {"local.*"}))


def test_cached_tokens_are_charged_by_their_own_price_and_once() -> None:
    usage = Usage(input=562, output=100, cache_read=3_059, cache_write=0)
    assert SONNET.actual(usage) == dollars("0.0041037", "cost")


def test_a_regions_price_is_that_of_its_exact_id() -> None:
    base, europe = (
        Price(input=rate, output=0, cache_read=0, cache_write=0, context=1)
        for rate in (3_000_000_000, 3_300_000_000)
    )
    rows = {"x": base, "eu.x": europe}
    assert price_of("eu.x", rows).input == 3_300_000_000
    assert price_of("x", rows).input == 3_000_000_000
    with pytest.raises(UnpricedModel):
        price_of("jp.x", rows)


@pytest.mark.parametrize(
    "model",
    [
        "vendor.new-model-v9:0",
        "jp.amazon.nova-lite-v1:0",
        "arn:aws:bedrock:eu-west-1:111122223333:application-inference-profile/abc123",
        "",
        "local",
        "Local.extractive-v1",
    ],
)
def test_a_model_without_a_row_is_refused_and_never_free(model: str) -> None:
    with pytest.raises(UnpricedModel, match=r"prices\.json"):
        price_of(model)


def test_two_ids_of_one_family_may_have_prices_of_their_own() -> None:
    haiku = "anthropic.claude-haiku-4-5-20251001-v1:0"
    assert price_of(f"us.{haiku}").output > price_of(f"global.{haiku}").output


def test_models_on_ones_own_machine_cost_nothing() -> None:
    assert price_of("local.extractive-v1").worst_case(1_000_000, 1_000_000) == 0


def test_an_accounts_row_comes_before_the_shipped_one() -> None:
    model = "amazon.nova-lite-v1:0"
    assert price_of(model, {model: SONNET}) == SONNET


@given(models, usages)
def test_no_call_costs_more_than_its_worst_case(model: str, usage: Usage) -> None:
    price = price_of(model)
    sent = usage.input + usage.cache_read + usage.cache_write
    assert price.actual(usage) <= price.worst_case(sent, usage.output)


@given(models, usages, usages)
def test_charging_calls_one_by_one_never_undercharges(model: str, one: Usage, two: Usage) -> None:
    price = price_of(model)
    apart = price.actual(one) + price.actual(two)
    assert 0 <= apart - price.actual(one + two) <= 1


def test_every_model_that_answers_costs_something() -> None:
    for model, price in price_table().items():
        assert price.context > 0, model
        assert model == "local.*" or price.input > 0, model


def test_tokens_of_failed_attempts_add_up() -> None:
    attempts = (Usage(input=1_000, output=200), Usage(input=1_300, output=200))
    total = attempts[0] + attempts[1] + Usage(input=1_600, output=50)
    assert (total.input, total.output) == (3_900, 450)
