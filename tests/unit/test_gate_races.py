"""Races at the gate, each told as the shortest story of it."""

from datetime import timedelta

import pytest

from autoops.domain.admissions import AdmissionState, Asker
from autoops.domain.claims import claim_for_texts
from autoops.domain.contracts import Run
from autoops.domain.model import ModelReply
from autoops.domain.pricing import Usage
from autoops.errors import CallInProgress, ModelTimedOut
from fakes import Killed
from gate_bench import GateBench

RUN = Run(id="r1", root="answer-question:r1", workflow="answer-question", tenant="default")
CLAIM = claim_for_texts("answer-question:r1/Embed/0", "amazon.titan-embed-text-v2:0", ("one",))
REPLY = ModelReply(stop_reason="end_turn", text="", tool_input=[], usage=Usage(input=3))


@pytest.fixture
def bench() -> GateBench:
    made = GateBench()
    made.open(RUN)
    return made


def test_an_earlier_try_of_admit_that_comes_late_does_not_take_the_place_of_a_later_one(
    bench: GateBench,
) -> None:
    bench.operations.pause(RUN.root)
    late = Asker(execution=RUN.root, since="2026-12-01T12:00:00Z/0", token="first")
    bench.gate.ask(RUN, CLAIM, Asker(execution=RUN.root, since="2026-12-01T12:00:00Z/1", token="b"))
    with pytest.raises(CallInProgress, match="a later try"):
        bench.gate.ask(RUN, CLAIM, late)
    bench.operations.resume(RUN.root)
    assert [token for token, _ in bench.workflows.answered] == ["b"]


def test_a_redrive_while_the_sweep_looks_keeps_what_it_asked_for(bench: GateBench) -> None:
    bench.operations.pause(RUN.root)
    bench.ask(RUN, CLAIM, "before")
    bench.clock.advance(timedelta(minutes=2))
    closing = bench.closing()
    bench.workflows.ended[RUN.root] = bench.workflows.running.pop(RUN.root)
    assert closing.sweep() == 1
    bench.workflows.redrive(RUN.root)
    bench.ask(RUN, CLAIM, "after")
    bench.clock.advance(timedelta(minutes=2))
    assert closing.sweep() == 0
    assert bench.states(RUN) == {CLAIM.call: AdmissionState.WAITING}


def test_a_reply_that_was_settled_late_is_not_paid_for_by_a_third_attempt(
    bench: GateBench,
) -> None:
    bench.ask(RUN, CLAIM)

    def given_up_meanwhile() -> ModelReply:
        bench.clock.advance(timedelta(minutes=2))
        with pytest.raises(Killed):
            bench.calls(RUN).make(CLAIM, killed)
        return REPLY

    def killed() -> ModelReply:
        raise Killed("attempt 2")

    with pytest.raises(CallInProgress, match="its cost is counted"):
        bench.calls(RUN).make(CLAIM, given_up_meanwhile)
    bench.clock.advance(timedelta(minutes=2))
    reply, record = bench.calls(RUN).make(CLAIM, lambda: pytest.fail("paid again"))
    assert (reply, record.attempt) == (REPLY, 1)
    budget = bench.budget(RUN)
    assert (budget.reserved, budget.spent) == (0, record.cost + CLAIM.worst)


def test_a_worker_that_knows_its_outcome_is_unknown_leaves_no_lease_behind(
    bench: GateBench,
) -> None:
    bench.ask(RUN, CLAIM)

    def timed_out() -> ModelReply:
        raise ModelTimedOut("no answer")

    with pytest.raises(ModelTimedOut):
        bench.calls(RUN).make(CLAIM, timed_out)
    _, record = bench.calls(RUN).make(CLAIM, lambda: REPLY)
    assert record.attempt == 2
    assert bench.money(RUN)[2] == record.cost + CLAIM.worst
