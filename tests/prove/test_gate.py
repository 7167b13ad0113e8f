"""The gate keeps its promises in thousands of worlds, and the proof finds what is seeded."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate_proof.seeds import SEEDS, UNSHOWN, Forgotten, Seed
from gate_proof.world import explore

WORLDS = 4_000
MOST = 500
"""Worlds looked at for one seeded bug; most are found in the first hundred."""


@pytest.mark.timeout(900)
def test_the_gate_keeps_its_promises_in_any_order_of_calls() -> None:
    transactions = sum(explore(Random(number)).table.transactions for number in range(WORLDS))  # noqa: S311  # repeatable
    assert transactions > 10 * WORLDS, "the worlds do too little to prove anything"


@pytest.mark.timeout(600)
@settings(max_examples=500)
@given(dice=st.randoms(use_true_random=False))
def test_the_gate_keeps_its_promises_whatever_hypothesis_tries(dice: Random) -> None:
    explore(dice, steps=60)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "seed", [seed for seed in SEEDS if seed.name not in UNSHOWN], ids=lambda seed: seed.name
)
def test_a_seeded_bug_is_found(seed: Seed | Forgotten) -> None:
    with pytest.raises(AssertionError):  # noqa: PT012  # which world it is does not matter
        for number in range(MOST):
            explore(Random(number), alter=seed.alter)  # noqa: S311  # repeatable
