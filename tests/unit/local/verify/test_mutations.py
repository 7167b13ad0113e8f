"""Whatever harm is done to a shipped machine is found; `tests/prove` does all of it."""

import copy
from dataclasses import replace
from typing import Final

import pytest

from local.verify.verdict import verify
from unit.local.verify.mutations import MUTATIONS, OTHERS, Mutation
from unit.local.verify.shipped import altered, definition, machine, settings, world

SOME: Final = [*MUTATIONS[::5], *OTHERS]


@pytest.mark.parametrize("mutation", SOME, ids=[f"{name} {what}" for name, what, _ in SOME])
def test_harm_is_found(mutation: Mutation) -> None:
    name, _, change = mutation
    assert verify(altered({name: change}), settings()).refused


def test_the_shipped_machines_pass_without_a_note() -> None:
    assert verify(world(), settings()).findings == []


def test_a_root_whose_end_nobody_hears_is_found() -> None:
    for arn in world().closed:
        left = replace(world(), closed=world().closed - {arn})
        assert verify(left, settings()).refused


def test_an_unpriced_model_has_no_bound() -> None:
    functions = dict(world().functions)
    for arn, function in functions.items():
        if function.step == "call_model":
            functions[arn] = replace(function, models=("acme.unknown-v1:0",))
    found = verify(replace(world(), functions=functions), settings()).findings
    assert any("acme.unknown-v1:0 has no price" in one.sentence for one in found)


def test_nothing_is_changed_by_looking() -> None:
    before = copy.deepcopy(definition(machine("ask-model").arn))
    verify(world(), settings())
    assert definition(machine("ask-model").arn) == before
