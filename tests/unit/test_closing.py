"""What is left behind is ended, once nobody waits for it: by the end of a run, or by the sweep."""

from datetime import timedelta

import pytest

from autoops.domain.admissions import Admission, AdmissionState, Limit
from autoops.domain.contracts import Run
from autoops.domain.ledger import OnBudget
from fakes import Killed, killed, tool
from gate_bench import DOLLAR, GateBench
from samples import ANSWER, CALL, MODEL, RUN, claim

WORST = 1_000_000
ASKED = claim(worst=WORST)
OTHER = claim(call=f"{CALL}/1", worst=WORST)
MINUTES = timedelta(minutes=2)


@pytest.fixture
def bench() -> GateBench:
    made = GateBench({"*": Limit(concurrency=1)})
    made.open(RUN)
    return made


def execution_ends(bench: GateBench) -> None:
    """The execution fails, and nobody has swept yet."""
    bench.workflows.ended[RUN.root] = bench.workflows.running.pop(RUN.root)
    bench.workflows.gone.add("token")
    bench.clock.advance(MINUTES)


def calling(bench: GateBench) -> Admission:
    bench.ask(RUN, ASKED)
    begun = bench.admissions.begin(RUN, ASKED, bench.gate.lease_end())
    assert begun is not None
    return begun.admission


class TestClose:
    def test_what_waits_and_what_was_let_in_is_ended_with_its_run(self, bench: GateBench) -> None:
        bench.ask(RUN, ASKED)
        bench.ask(RUN, OTHER)
        execution_ends(bench)
        assert bench.closing().close(RUN.root) >= 1
        assert set(bench.states(RUN).values()) == {AdmissionState.RELEASED}
        assert (bench.money(RUN), bench.held(MODEL)) == ((DOLLAR, 0, 0), 0)
        assert bench.queue(MODEL) == []

    def test_a_run_that_still_runs_loses_nothing(self, bench: GateBench) -> None:
        bench.ask(RUN, ASKED)
        bench.clock.advance(MINUTES)
        assert bench.closing().close(RUN.root) == 0
        assert bench.states(RUN) == {CALL: AdmissionState.GRANTED}

    def test_a_worker_that_is_believed_to_be_calling_is_left_alone(self, bench: GateBench) -> None:
        calling(bench)
        bench.workflows.running.clear()
        assert bench.closing().close(RUN.root) == 0

    def test_a_call_whose_lease_is_over_is_charged_in_full(self, bench: GateBench) -> None:
        calling(bench)
        execution_ends(bench)
        assert bench.closing().close(RUN.root) == 1
        assert bench.states(RUN) == {CALL: AdmissionState.LOST}
        assert (bench.money(RUN), bench.held(MODEL)) == ((DOLLAR - WORST, 0, WORST), 0)

    def test_a_call_whose_reply_was_kept_is_charged_what_it_cost(self, bench: GateBench) -> None:
        bench.ask(RUN, ASKED)
        bench.watch = killed("after keep_reply")
        with pytest.raises(Killed):
            bench.calls(RUN).make(ASKED, lambda: tool(ANSWER))
        execution_ends(bench)
        assert bench.closing().close(RUN.root) == 1
        (record,) = bench.view(RUN).calls
        assert bench.states(RUN) == {CALL: AdmissionState.SETTLED}
        assert bench.money(RUN) == (DOLLAR - record.cost, 0, record.cost)
        assert bench.held(MODEL) == 0

    def test_closed_again_it_moves_nothing(self, bench: GateBench) -> None:
        bench.ask(RUN, ASKED)
        execution_ends(bench)
        bench.closing().close(RUN.root)
        assert bench.closing().close(RUN.root) == 0


class TestSweep:
    def test_a_young_admission_is_left_to_whoever_asked(self, bench: GateBench) -> None:
        bench.ask(RUN, ASKED)
        bench.workflows.running.clear()
        bench.clock.advance(timedelta(seconds=59))
        assert bench.closing().sweep() == 0
        bench.clock.advance(timedelta(seconds=1))
        assert bench.closing().sweep() == 1

    def test_the_slot_of_what_was_left_behind_goes_to_who_waits(self, bench: GateBench) -> None:
        bench.ask(RUN, ASKED)
        late = Run(id="r2", root="answer-question:r2", workflow="answer-question", tenant="best")
        bench.open(late)
        bench.ask(late, claim(call="late"), "late")
        execution_ends(bench)
        assert bench.closing().sweep() == 1
        assert [token for token, _ in bench.workflows.answered] == ["late"]
        assert bench.held(MODEL) == 1

    def test_who_was_let_in_and_never_told_is_told(self, bench: GateBench) -> None:
        bench.ask(RUN, ASKED, "deaf")
        bench.clock.advance(MINUTES)
        assert bench.closing().sweep() == 1
        assert bench.workflows.answered == [("deaf", {"call": CALL, "worst": WORST})]
        assert bench.closing().sweep() == 0, "once"

    def test_who_was_forgotten_in_the_queue_is_let_in(self, bench: GateBench) -> None:
        holder = bench.ask(RUN, ASKED)
        bench.ask(RUN, OTHER, "forgotten")
        bench.admissions.release(holder)
        bench.clock.advance(MINUTES)
        assert bench.closing().sweep() == 1
        assert [token for token, _ in bench.workflows.answered] == ["forgotten"]

    @pytest.mark.parametrize("reason", ["paused", "money"])
    def test_who_waits_for_no_reason_any_more_is_let_in(self, reason: str) -> None:
        bench = GateBench()
        bench.open(RUN, 10 if reason == "money" else DOLLAR, on_budget=OnBudget.ASK)
        if reason == "paused":
            bench.operations.pause(RUN.root)
        waiting = bench.ask(RUN, ASKED, "waiter")
        assert waiting.wait == reason
        bench.clock.advance(MINUTES)
        assert bench.closing().sweep() == 0, "the reason still stands"
        bench.ledger.pause(RUN.root, paused=False)
        bench.ledger.raise_ceiling(RUN.root, WORST, DOLLAR)
        assert bench.closing().sweep() == 1
        assert [token for token, _ in bench.workflows.answered] == ["waiter"]

    def test_what_was_asked_for_before_a_redrive_is_ended(self, bench: GateBench) -> None:
        bench.ask(RUN, ASKED)
        execution_ends(bench)
        bench.workflows.redrive(RUN.root)
        assert bench.closing().sweep() == 1
        assert bench.states(RUN) == {CALL: AdmissionState.RELEASED}

    def test_what_was_asked_for_again_after_a_redrive_is_kept(self, bench: GateBench) -> None:
        bench.ask(RUN, ASKED, "before")
        execution_ends(bench)
        bench.workflows.redrive(RUN.root)
        bench.ask(RUN, ASKED, "after")
        bench.closing().sweep()
        assert bench.states(RUN) == {CALL: AdmissionState.GRANTED}
        assert [token for token, _ in bench.workflows.answered] == ["after"]

    def test_a_worker_that_renews_its_lease_is_left_alone(self, bench: GateBench) -> None:
        held = calling(bench)
        execution_ends(bench)
        bench.admissions.renew(held, bench.gate.lease_end())
        assert bench.closing().sweep() == 0
        bench.pass_lease()
        assert bench.closing().sweep() == 1

    def test_a_sweep_stops_in_time_and_the_next_goes_on(self) -> None:
        bench = GateBench()
        bench.open(RUN)
        for number in range(5):
            bench.ask(RUN, claim(call=f"{CALL}/{number}"))
        execution_ends(bench)

        def slow(moment: str) -> None:
            if moment == "before release":
                bench.clock.advance(timedelta(seconds=25))

        bench.watch = slow
        assert [bench.closing().sweep() for _ in range(3)] == [2, 2, 1]
