from dataclasses import replace
from typing import Annotated

import pytest
from pydantic import Field

from autoops.domain.contracts import Contract
from autoops.domain.references import Large, Private
from local.verify.sizes import most_bytes, sizes
from unit.local.verify.small import ARN, FUNCTIONS, NESTS, Nest, world_of
from unit.local.verify.test_small_machines import LOOKS


class Word(Contract):
    text: Annotated[str, Field(max_length=100)]


class Words(Contract):
    words: Annotated[tuple[Word, ...], Field(max_length=1_000)]


class Open(Contract):
    text: str


class Shut(Contract):
    text: Private[str]
    words: Large[tuple[str, ...]]
    good: bool | None


def test_what_contracts_bound_has_a_size() -> None:
    one = most_bytes(Word)
    assert one is not None
    assert one >= len(Word(text="\x01" * 100).model_dump_json())
    assert most_bytes(Words) == 1_000 * (one + 1) + 2 + len('{"words":,}')


def test_what_nothing_bounds_has_none_unless_it_travels_by_reference() -> None:
    assert most_bytes(Open) is None
    assert most_bytes(Shut) is not None


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
def test_a_result_that_may_be_too_large_is_found(nest: Nest) -> None:
    around = world_of(nest.around(LOOKS))
    large = replace(FUNCTIONS["Look"], most_bytes=most_bytes(Words))
    around = replace(around, functions={**around.functions, f"{ARN}Look": large})
    found = {one.sentence for m in around.machines.values() for one in sizes(around, m)}
    assert len(found) == 1
    assert "a state takes 262,144" in found.pop()
