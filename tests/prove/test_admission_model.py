"""The admission protocol, explored: two runs, two calls, each pair of faults; minutes."""

from collections.abc import Mapping
from itertools import combinations
from typing import Final

import pytest

from prove.admission_conformance import Checked
from prove.admission_model import Transactions
from prove.admission_moves import FAULTS
from prove.admission_search import Instance, explore, programs
from prove.admission_seeds import SEEDS, Seed

WIDE: Final = 60_000
"""Where two runs have two calls each, so many states are seen; elsewhere all of them."""

pytestmark = pytest.mark.timeout(600)


def hold(name: str, instance: Instance) -> None:
    explored = explore(instance)
    print(f"{name}: {explored}")  # noqa: T201  # the figures are what is asked for
    assert not explored.wrong, explored


@pytest.mark.parametrize("pair", list(combinations(FAULTS, 2)), ids="+".join)
def test_no_pair_of_faults_breaks_one_call(pair: tuple[str, str]) -> None:
    hold("1 run, 1 call", Instance(programs(), dict.fromkeys(pair, 1), runs=1, calls=1, ceiling=6))


@pytest.mark.parametrize("fault", [kind for kind in FAULTS if kind not in ("redrive", "stop")])
@pytest.mark.parametrize("shape", [(1, 2), (2, 1)], ids=["1 run 2 calls", "2 runs 1 call"])
def test_no_fault_breaks_two_calls_that_share_a_slot(shape: tuple[int, int], fault: str) -> None:
    runs, calls = shape
    hold(f"{shape} {fault}", Instance(programs(), {fault: 1}, runs, calls, ceiling=4))


@pytest.mark.parametrize("fault", ["kill", "tick", "throttle", "pause", "end", "sweep"])
def test_no_fault_breaks_two_calls_that_wait_for_money(fault: str) -> None:
    hold(f"asks, {fault}", Instance(programs(asks=True), {fault: 1}, 1, 2, ceiling=3))


@pytest.mark.parametrize("faults", [{}, {"tick": 1, "abandon": 1}, {"stop": 1, "kill": 1}], ids=str)
def test_two_runs_of_two_calls_keep_the_invariants_as_far_as_is_looked(
    faults: Mapping[str, int],
) -> None:
    instance = Instance(programs(most=3), faults, ceiling=3, reduced=True, most=WIDE)
    hold(f"2 runs, 2 calls, {dict(faults)}", instance)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.dropped}-{seed.faults}")
def test_a_seeded_mistake_is_found_and_nothing_without_it(seed: Seed) -> None:
    explored = seed.search()
    print(f"{seed.dropped or seed.mistakes}: {explored}")  # noqa: T201  # as above
    assert seed.says in explored.wrong, explored
    assert not seed.search(sound=True).wrong


def test_the_model_and_the_table_agree_on_what_each_transaction_does() -> None:
    checked = Checked(Transactions(limit=1), every=4)
    for pair in (
        ("tick", "abandon"),
        ("pause", "kill"),
        ("stop", "unavailable"),
        ("end", "redrive"),
    ):
        explored = explore(Instance(checked.programs(), dict.fromkeys(pair, 1), 1, 1, ceiling=6))
        assert not explored.wrong, explored
    for fault in ("double", "tick", "pause", "end"):
        explored = explore(Instance(checked.programs(), {fault: 1}, 1, 2, ceiling=4))
        assert not explored.wrong, explored
    print(f"{checked.compared.total():,}: {checked.compared}")  # noqa: T201  # as above
