"""Each minute what was left behind is ended, and who was forgotten is let in."""

from datetime import timedelta

import pytest

from autoops.domain.admissions import AdmissionState
from autoops.domain.contracts import Json
from autoops.errors import DependencyUnavailable
from fakes import FakeContext, raising, sample_event
from gate_bench import DOLLAR, GateBench
from samples import CALL, RUN, claim
from triggers.sweep.handler import handler


@pytest.fixture
def bench() -> GateBench:
    made = GateBench()
    made.open(RUN)
    return made


def sweep(bench: GateBench) -> Json:
    ready = handler.with_ports(gate=lambda: bench.gate, artifacts=lambda: bench.artifacts)
    return ready(sample_event("sweep"), FakeContext())


def test_where_nothing_was_left_behind_nothing_moves(bench: GateBench) -> None:
    assert sweep(bench) == {"moved": 0}


def test_what_an_ended_execution_left_behind_is_ended(bench: GateBench) -> None:
    bench.ask(RUN, claim())
    bench.workflows.running.clear()
    bench.clock.advance(timedelta(minutes=2))
    assert sweep(bench) == {"moved": 1}
    assert bench.states(RUN) == {CALL: AdmissionState.RELEASED}
    assert bench.money(RUN) == (DOLLAR, 0, 0)


def test_what_a_sweep_could_not_do_the_next_one_does(bench: GateBench) -> None:
    bench.ask(RUN, claim())
    bench.workflows.running.clear()
    bench.clock.advance(timedelta(minutes=2))
    bench.watch = raising("before release", DependencyUnavailable("dynamodb: down"))
    with pytest.raises(DependencyUnavailable):
        sweep(bench)
    assert sweep(bench) == {"moved": 1}
