"""The admission protocol, every state of one run with two calls; `make prove` explores more."""

from typing import Final

import pytest

from prove.admission_conformance import Checked
from prove.admission_model import Transactions
from prove.admission_search import Instance, explore, programs
from prove.admission_seeds import SEEDS, Seed

SMALL: Final[tuple[tuple[dict[str, int], int], ...]] = (
    ({}, 3),
    ({}, 4),
    ({"kill": 1}, 4),
    ({"throttle": 1}, 4),
    ({"tick": 1}, 4),
    ({"end": 1}, 3),
)


@pytest.mark.parametrize(("faults", "ceiling"), SMALL)
def test_no_interleaving_of_two_calls_breaks_an_invariant(
    faults: dict[str, int], ceiling: int
) -> None:
    explored = explore(Instance(programs(), faults, runs=1, ceiling=ceiling))
    assert not explored.wrong, explored


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.dropped}-{seed.faults}")
def test_a_condition_that_is_dropped_is_found(seed: Seed) -> None:
    explored = seed.search()
    assert seed.says in explored.wrong, explored


def test_the_model_and_the_table_agree_on_what_each_transaction_does() -> None:
    checked = Checked(Transactions(limit=1), every=5)
    agreed = checked.programs()
    for faults, ceiling in (({"tick": 1, "abandon": 1}, 4), ({"pause": 1}, 3)):
        explored = explore(Instance(agreed, faults, runs=1, calls=1, ceiling=ceiling))
        assert not explored.wrong, explored
    assert checked.compared.total()


@pytest.mark.parametrize("dropped", ["money", "slot", "token", "lease", "attempt", "going"])
def test_a_model_that_lacks_a_condition_of_the_table_does_not_agree(dropped: str) -> None:
    seed = next(seed for seed in SEEDS if seed.dropped == dropped)
    lacking = Checked(Transactions(1, dropped)).programs()
    faults = dict.fromkeys(seed.faults, 1)
    with pytest.raises(AssertionError, match=r"the table says|from State"):
        explore(Instance(lacking, faults, runs=1, calls=seed.calls, ceiling=seed.ceiling))
