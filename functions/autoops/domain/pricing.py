"""What a model call may cost at most, and what it did cost."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, Self

from autoops.domain.contracts import Contract, Json
from autoops.domain.model_ids import table_id
from autoops.domain.money import dollars
from autoops.errors import UnpricedModel

MILLION: Final = 1_000_000
LOCAL: Final = "local.*"

Tier = Literal["default", "priority", "flex", "reserved"]
"""Bedrock's service tiers."""


class Usage(Contract):
    """Tokens of one call, as Converse counts them: the kinds of input do not overlap.

    Attributes:
        cache_write: written to the cache for five minutes.
        cache_write_hour: written to the cache for an hour.
        tier: the service tier that served the call.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_hour: int = 0
    tier: Tier = "default"

    def __add__(self, other: Self) -> Self:
        """The sum, kind by kind; of no tier in particular."""
        counts = type(self).model_fields.keys() - {"tier"}
        return self.model_copy(
            update={name: getattr(self, name) + getattr(other, name) for name in counts}
        )

    @property
    def sent(self) -> int:
        """Tokens of input of every kind."""
        return self.input + self.cache_read + self.cache_write + self.cache_write_hour


class Rates(Contract):
    """Nano-dollars for a million tokens of each kind."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_hour: int

    @property
    def dearest_input(self) -> int:
        """What a token of input costs at most, whatever the cache does with it."""
        return max(self.input, self.cache_read, self.cache_write, self.cache_write_hour)


class Price(Rates):
    """A model's price; the rates themselves are those of the default tier.

    Attributes:
        context: tokens of input and output together that the model takes at most.
        tiers: rates of the other tiers.
    """

    context: int
    tiers: Mapping[Tier, Rates] = {}

    def actual(self, usage: Usage) -> int:
        """Nano-dollars of a call, rounded up once.

        Tokens of the reserved tier are paid by the hour, ahead; they count as those of the default.
        """
        rates = self.tiers.get(usage.tier, self)
        millionths = (
            usage.input * rates.input
            + usage.output * rates.output
            + usage.cache_read * rates.cache_read
            + usage.cache_write * rates.cache_write
            + usage.cache_write_hour * rates.cache_write_hour
        )
        return -(-millionths // MILLION)

    def worst_case(self, input_tokens: int, output_tokens: int, tier: Tier = "default") -> int:
        """Nano-dollars of the dearest call with at most that many tokens.

        All input is cached anew, and a tier that is full hands over to the default one.

        Raises:
            UnpricedModel: the tier has no rates.
        """
        served = [self, self._of_tier(tier)]
        dearest = max(rates.dearest_input for rates in served)
        output = max(rates.output for rates in served)
        return -(-(input_tokens * dearest + output_tokens * output) // MILLION)

    def worst_answer(self, input_tokens: int, output_tokens: int, tier: Tier) -> int:
        """As `worst_case`, of one question: no model takes more input than its context.

        Raises:
            UnpricedModel: the tier has no rates.
        """
        return self.worst_case(min(input_tokens, self.context), output_tokens, tier)

    def _of_tier(self, tier: Tier) -> Rates:
        if tier in self.tiers:
            return self.tiers[tier]
        if tier in ("default", "reserved"):
            return self
        raise UnpricedModel(
            f"tier: {tier} has no rates; add them to the model's row in autoops/domain/prices.json"
        )


def price_of(model: str, extra: Mapping[str, Price] | None = None) -> Price:
    """The price by the exact model id; a prefix such as `eu.` makes another id.

    An ARN that has no row of its own and names a model has that model's. Ids that begin with
    `local.` are models on one's own machine, which no one bills.

    Args:
        model: Bedrock model id, inference profile id or ARN.
        extra: rows that the account adds or overrides.

    Raises:
        UnpricedModel: there is no row, so no ceiling could hold.
    """
    rows = {**price_table(), **(extra or {})}
    row = LOCAL if model.startswith("local.") else table_id(model)
    price = rows.get(model) or rows.get(row)
    if price is None:
        raise UnpricedModel(
            f"model: {model} has no price; add its row to autoops/domain/prices.json"
        )
    return price


@cache
def price_table() -> Mapping[str, Price]:
    """The shipped prices by model id."""
    rows = json.loads((Path(__file__).parent / "prices.json").read_text("utf-8"))["models"]
    return {model: _price(model, row) for model, row in rows.items()}


def _price(model: str, row: Mapping[str, Json]) -> Price:
    tiers = {tier: _rates(f"{model}.{tier}", rates) for tier, rates in row.get("tiers", {}).items()}
    rates = _rates(model, row).model_dump()
    return Price.model_validate({**rates, "context": row["context"], "tiers": tiers})


def _rates(model: str, row: Mapping[str, Json]) -> Rates:
    """A row's rates; a kind of input that it does not name costs what plain input costs."""
    given = {kind: row.get(kind, row["input"]) for kind in Rates.model_fields}
    return Rates(
        **{kind: dollars(amount, f"prices.{model}.{kind}") for kind, amount in given.items()}
    )
