"""What a model call may cost at most, and what it did cost."""

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final, Self

from autoops.domain.contracts import Contract
from autoops.domain.money import dollars
from autoops.errors import UnpricedModel

MILLION: Final = 1_000_000
LOCAL: Final = "local.*"


class Usage(Contract):
    """Tokens of one call, as Converse counts them: the three kinds of input do not overlap."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: Self) -> Self:
        """The sum, kind by kind."""
        return self.model_copy(
            update={
                name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields
            }
        )


class Price(Contract):
    """A model's price in nano-dollars for a million tokens.

    Attributes:
        context: tokens of input and output together that the model takes at most.
    """

    input: int
    output: int
    cache_read: int
    cache_write: int
    context: int

    def actual(self, usage: Usage) -> int:
        """Nano-dollars of a call, rounded up once."""
        millionths = (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
        )
        return -(-millionths // MILLION)

    def worst_case(self, input_tokens: int, output_tokens: int) -> int:
        """Nano-dollars of the dearest call with at most that many tokens, all input cached anew."""
        dearest = max(self.input, self.cache_write, self.cache_read)
        return -(-(input_tokens * dearest + output_tokens * self.output) // MILLION)


def price_of(model: str, extra: Mapping[str, Price] | None = None) -> Price:
    """The price by the exact model id; a prefix such as `eu.` or an ARN is an id of its own.

    Ids that begin with `local.` are models on one's own machine, which no one bills.

    Args:
        model: Bedrock model id, inference profile id or ARN.
        extra: rows that the account adds or overrides.

    Raises:
        UnpricedModel: there is no row, so no ceiling could hold.
    """
    row = LOCAL if model.startswith("local.") else model
    price = (extra or {}).get(model) or price_table().get(row)
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


def _price(model: str, row: Mapping[str, str | int]) -> Price:
    def nano(kind: str) -> int:
        return dollars(Decimal(str(row.get(kind, row["input"]))), f"prices.{model}.{kind}")

    return Price(
        input=nano("input"),
        output=nano("output"),
        cache_read=nano("cache_read"),
        cache_write=nano("cache_write"),
        context=int(row["context"]),
    )
