"""A short run of the gate's proof; `make prove` runs thousands of its worlds."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate_proof.seeds import SEEDS, Forgotten, Seed
from gate_proof.world import explore

QUICK = (
    "reserve: the money reaches",
    "going: not stopped",
    "begin: granted",
    "settle: the soft limit",
    "grant, unpark: the ticket is taken out",
)
"""Seeded bugs that a few worlds find."""


def test_the_gate_keeps_its_promises_in_some_orders_of_calls() -> None:
    assert sum(explore(Random(number)).table.transactions for number in range(60)) > 600  # noqa: S311  # repeatable


@settings(max_examples=20)
@given(dice=st.randoms(use_true_random=False))
def test_the_gate_keeps_its_promises_whatever_hypothesis_tries(dice: Random) -> None:
    explore(dice, steps=40)


@pytest.mark.parametrize(
    "seed", [seed for seed in SEEDS if seed.name in QUICK], ids=lambda seed: seed.name
)
def test_a_seeded_bug_is_found(seed: Seed | Forgotten) -> None:
    with pytest.raises(AssertionError):  # noqa: PT012  # which world it is does not matter
        for number in range(60):
            explore(Random(number), alter=seed.alter)  # noqa: S311  # repeatable
