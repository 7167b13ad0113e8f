"""What calls cost: each kind of token by its own price, unknown models never for nothing."""

import json
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.domain import pricing
from autoops.domain.contracts import Json
from autoops.domain.money import dollars
from autoops.domain.pricing import Price, Rates, Tier, Usage, price_of, price_table
from autoops.errors import UnpricedModel

SONNET = Price(
    input=3_000_000_000,
    output=15_000_000_000,
    cache_read=300_000_000,
    cache_write=3_750_000_000,
    cache_write_hour=6_000_000_000,
    context=200_000,
)
tokens = st.integers(0, 300_000)
usages = st.builds(
    Usage,
    input=tokens,
    output=tokens,
    cache_read=tokens,
    cache_write=tokens,
    cache_write_hour=tokens,
)
rates = st.builds(Rates, **{kind: st.integers(0, 10**11) for kind in Rates.model_fields})
tiers = st.sampled_from(get_args(Tier))
prices = st.builds(
    lambda own, priority, flex, context: Price(
        **own.model_dump(), context=context, tiers={"priority": priority, "flex": flex}
    ),
    rates,
    rates,
    rates,
    st.integers(1, 10**6),
)
models = st.sampled_from(sorted(set(price_table()) - {"local.*"}))


TABLE = Path(pricing.__file__).parent / "prices.json"


def shipped_rows() -> Mapping[str, Json]:
    rows: Mapping[str, Json] = json.loads(TABLE.read_text("utf-8"))["models"]
    return rows


def test_cached_tokens_are_charged_by_their_own_price_and_once() -> None:
    usage = Usage(input=562, output=100, cache_read=3_059, cache_write=0)
    assert SONNET.actual(usage) == dollars("0.0041037", "cost")


def test_a_regions_price_is_that_of_its_exact_id() -> None:
    base, europe = (
        SONNET.model_copy(update={"input": rate}) for rate in (3_000_000_000, 3_300_000_000)
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
        "arn:aws:bedrock:us-east-1:111122223333:inference-profile/jp.amazon.nova-lite-v1:0",
        "arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-lite-v1:0",
        "arn:aws:bedrock:us-east-1::foundation-model/vendor.new-model-v9:0",
        "arn:aws:bedrock:us-east-1::foundation-model/local.extractive-v1",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.amazon.nova-lite-v1:0",
        "arn:aws:bedrock:us-east-1:111122223333:provisioned-model/abc123",
        "us.amazon.nova-lite-v1:0 ",
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


@pytest.mark.parametrize(
    ("arn", "model"),
    [
        (
            "arn:aws:bedrock:us-west-2:111122223333:inference-profile/us.amazon.nova-lite-v1:0",
            "us.amazon.nova-lite-v1:0",
        ),
        (
            "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
            "amazon.nova-lite-v1:0",
        ),
    ],
)
def test_an_arn_that_names_a_model_has_its_price(arn: str, model: str) -> None:
    assert price_of(arn) == price_of(model)
    assert price_of(arn, {arn: SONNET}) == SONNET, "a row of its own comes first"


def test_a_profile_of_the_accounts_own_has_the_row_that_the_account_gives_it() -> None:
    arn = "arn:aws:bedrock:eu-west-1:111122223333:application-inference-profile/abc123"
    assert price_of(arn, {arn: SONNET}) == SONNET


@given(prices, usages, tiers, st.booleans(), st.integers(0, 300_000))
def test_no_call_within_its_bounds_costs_more_than_its_worst_case(
    price: Price, usage: Usage, tier: Tier, handed_over: bool, unused: int
) -> None:
    served = usage.model_copy(update={"tier": "default" if handed_over else tier})
    worst = price.worst_case(served.sent + unused, served.output + unused, tier)
    assert price.actual(served) <= worst
    if served.sent <= price.context:
        assert price.actual(served) <= price.worst_answer(
            served.sent + unused, served.output + unused, tier
        )


@given(models, usages)
def test_no_shipped_model_costs_more_than_its_worst_case(model: str, usage: Usage) -> None:
    price = price_of(model)
    assert price.actual(usage) <= price.worst_case(usage.sent, usage.output)


@given(models, st.integers(0, 10**9), st.integers(0, 64_000))
def test_no_question_reserves_more_than_a_full_context(model: str, sent: int, made: int) -> None:
    price = price_of(model)
    full = price.worst_case(price.context, made)
    assert price.worst_answer(sent, made, "default") <= full


@given(prices, usages)
def test_costs_are_whole_numbers_rounded_up_once(price: Price, usage: Usage) -> None:
    counts = usage.model_dump(exclude={"tier"})
    exact = sum(Fraction(count * getattr(price, kind), 1_000_000) for kind, count in counts.items())
    cost = price.actual(usage)
    assert type(cost) is int
    assert exact <= cost < exact + 1


def test_what_is_cached_for_an_hour_costs_more_than_what_is_cached_for_minutes() -> None:
    minutes = SONNET.actual(Usage(cache_write=1_000_000))
    hour = SONNET.actual(Usage(cache_write_hour=1_000_000))
    assert (minutes, hour) == (dollars("3.75", "cost"), dollars("6", "cost"))
    for model, row in shipped_rows().items():
        assert ("cache_write" in row) == ("cache_write_hour" in row), f"{model}: name both or none"


def test_a_tier_is_charged_by_its_own_rates_and_reserved_by_the_dearest_that_may_serve() -> None:
    priority = SONNET.model_copy(update={"input": 5_250_000_000, "output": 26_250_000_000})
    flex = SONNET.model_copy(update={"input": 1_500_000_000, "output": 7_500_000_000})
    price = SONNET.model_copy(update={"tiers": {"priority": priority, "flex": flex}})
    asked = Usage(input=1_000_000)
    assert price.actual(asked.model_copy(update={"tier": "priority"})) == dollars("5.25", "cost")
    assert price.actual(asked.model_copy(update={"tier": "flex"})) == dollars("1.50", "cost")
    assert price.actual(asked.model_copy(update={"tier": "reserved"})) == dollars("3", "cost")
    assert price.worst_case(0, 1_000_000, "priority") == dollars("26.25", "cost")
    assert price.worst_case(0, 1_000_000, "flex") == dollars("15", "cost"), "default may serve it"


@pytest.mark.parametrize("tier", ["priority", "flex"])
def test_a_tier_without_rates_is_refused_and_never_priced_as_another(tier: Tier) -> None:
    with pytest.raises(UnpricedModel, match=f"{tier} has no rates"):
        SONNET.worst_case(1, 1, tier)


def test_the_table_names_its_source_and_its_date() -> None:
    table = json.loads(TABLE.read_text("utf-8"))
    assert table["source"].startswith("https://aws.amazon.com/bedrock/pricing")
    assert date.fromisoformat(table["date"])


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


@given(usages, usages)
def test_usages_add_up_kind_by_kind(one: Usage, two: Usage) -> None:
    total = one + two
    assert total.sent == one.sent + two.sent
    assert total.output == one.output + two.output
