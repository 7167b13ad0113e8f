"""What admissions promise: how a call is let in, what becomes of it, and who comes too late."""

from datetime import timedelta

import pytest

from autoops.domain.admissions import AdmissionState, Limit, Wait
from autoops.domain.ledger import OnBudget
from autoops.errors import BudgetExceeded, InvalidInput, RunStopped
from calls_contract import OTHER, CallContract, LateContract, calling, standing
from gate_bench import GateBench
from samples import CALL, MODEL, RUN, claim, record


class LettingInContract:
    """How a call is let in."""

    def test_an_admitted_call_reserves_its_worst_case(self, bench: GateBench) -> None:
        bench.open(RUN, 1_000)
        admission = bench.ask(RUN, claim(worst=100))
        assert (admission.state, admission.attempt) == (AdmissionState.GRANTED, 0)
        assert bench.money(RUN) == (900, 100, 0)
        assert standing(bench) == admission

    def test_asked_again_for_the_same_call_it_reserves_nothing_more(self, bench: GateBench) -> None:
        bench.open(RUN, 100)
        first = bench.ask(RUN, claim(), "first")
        again = bench.ask(RUN, claim(), "second")
        assert again == first.model_copy(update={"asker": again.asker})
        assert (again.asker.token, standing(bench)) == ("second", again)
        assert bench.money(RUN) == (0, 100, 0)

    def test_a_call_over_what_is_left_is_refused_and_reserves_nothing(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN, 100)
        with pytest.raises(BudgetExceeded, match="raise the budget"):
            bench.ask(RUN, claim(worst=101))
        assert bench.money(RUN) == (100, 0, 0)
        assert bench.view(RUN).admissions == ()

    def test_the_last_cent_may_be_reserved(self, bench: GateBench) -> None:
        bench.open(RUN, 100)
        bench.ask(RUN, claim(worst=100))
        assert bench.money(RUN) == (0, 100, 0)

    def test_parallel_calls_never_reserve_more_than_the_ceiling(self, bench: GateBench) -> None:
        bench.open(RUN, 100)
        branches = [claim(call=f"{CALL}/{branch}", worst=30) for branch in range(8)]
        for admitted in branches[:3]:
            bench.ask(RUN, admitted)
        for refused in branches[3:]:
            with pytest.raises(BudgetExceeded):
                bench.ask(RUN, refused)
        assert bench.money(RUN) == (10, 90, 0)
        for admitted in branches[:3]:
            begun = bench.admissions.begin(RUN, admitted, bench.gate.lease_end())
            assert begun is not None
            bench.admissions.settle(begun.admission, record(begun.admission, cost=20))
        bench.ask(RUN, branches[3])
        assert bench.money(RUN) == (10, 30, 60)

    def test_another_request_does_not_take_over_a_path_that_is_under_way(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN)
        bench.ask(RUN, claim())
        with pytest.raises(InvalidInput, match="another request"):
            bench.ask(RUN, claim(fingerprint=OTHER))

    def test_another_request_on_a_settled_path_is_a_new_call(self, bench: GateBench) -> None:
        bench.open(RUN, 1_000)
        first = calling(bench)
        bench.admissions.settle(first, record(first))
        other = claim(fingerprint=OTHER)
        bench.ask(RUN, other)
        assert bench.money(RUN) == (860, 100, 40)
        begun = bench.admissions.begin(RUN, other, bench.gate.lease_end())
        assert begun is not None
        assert begun.now
        assert begun.admission.attempt == 2, "its reply must not be looked for in the first one's"

    def test_a_call_that_was_settled_is_admitted_without_money(self, bench: GateBench) -> None:
        bench.open(RUN, 100)
        first = calling(bench)
        bench.admissions.settle(first, record(first, cost=100))
        assert bench.ask(RUN, claim()).state is AdmissionState.SETTLED
        assert bench.money(RUN) == (0, 0, 100)

    def test_a_run_that_never_opened_admits_nothing(self, bench: GateBench) -> None:
        with pytest.raises(RunStopped):
            bench.ask(RUN, claim())

    def test_a_call_dearer_than_its_worst_case_is_counted_and_stops_the_run(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN, 100)
        begun = calling(bench)
        bench.admissions.settle(begun, record(begun, cost=130))
        assert (bench.money(RUN), bench.budget(RUN).over) == ((0, 0, 130), 30)
        with pytest.raises(RunStopped):
            bench.ask(RUN, claim(call=f"{CALL}1", worst=0))

    def test_a_model_has_no_more_calls_at_one_time_than_its_limit(self, bench: GateBench) -> None:
        bench.limits[MODEL] = Limit(concurrency=2)
        bench.open(RUN)
        states = [bench.ask(RUN, claim(call=f"{CALL}/{one}")).state for one in range(3)]
        assert states == [AdmissionState.GRANTED] * 2 + [AdmissionState.WAITING]
        assert bench.money(RUN)[1] == 200, "who waits holds no money"
        waiting = bench.admissions.next_in_line(MODEL)
        assert waiting is not None
        assert (waiting.claim.call, waiting.wait) == (f"{CALL}/2", Wait.FULL)

    def test_a_freed_slot_goes_to_the_first_in_line(self, bench: GateBench) -> None:
        bench.limits[MODEL] = Limit(concurrency=1)
        bench.open(RUN)
        first = calling(bench)
        for number in range(2):
            bench.clock.advance(timedelta(seconds=1))
            bench.ask(RUN, claim(call=f"{CALL}/{number}"), f"token-{number}")
        assert bench.gate.settle(first, record(first))
        assert [token for token, _ in bench.workflows.answered] == ["token-0"]
        waiting = bench.admissions.next_in_line(MODEL)
        assert waiting is not None
        assert waiting.claim.call == f"{CALL}/1"

    def test_every_open_admission_is_listed_and_no_other(self, bench: GateBench) -> None:
        bench.limits[MODEL] = Limit(concurrency=2)
        bench.open(RUN)
        first = calling(bench)
        bench.ask(RUN, claim(call=f"{CALL}/1"))
        bench.ask(RUN, claim(call=f"{CALL}/2"))
        assert {seen.claim.call: seen.state for seen in bench.admissions.open()} == {
            CALL: AdmissionState.CALLING,
            f"{CALL}/1": AdmissionState.GRANTED,
            f"{CALL}/2": AdmissionState.WAITING,
        }
        bench.admissions.settle(first, record(first))
        assert {seen.claim.call for seen in bench.admissions.open()} == {f"{CALL}/1", f"{CALL}/2"}

    def test_a_call_waits_for_money_only_while_there_is_not_enough(self, bench: GateBench) -> None:
        bench.open(RUN, 100, on_budget=OnBudget.ASK)
        waiting = bench.ask(RUN, claim(worst=101))
        assert (waiting.state, waiting.wait) == (AdmissionState.WAITING, Wait.MONEY)
        bench.ledger.raise_ceiling(RUN.root, 1, 1_000)
        assert not bench.admissions.park(waiting, Wait.MONEY)

    def test_a_call_waits_in_a_paused_run_only_while_it_is_paused(self, bench: GateBench) -> None:
        bench.open(RUN)
        bench.ledger.pause(RUN.root, paused=True)
        waiting = bench.ask(RUN, claim())
        assert (waiting.state, waiting.wait) == (AdmissionState.WAITING, Wait.PAUSED)
        bench.ledger.pause(RUN.root, paused=False)
        assert not bench.admissions.park(waiting, Wait.PAUSED)


class AdmissionsContract(LettingInContract, CallContract, LateContract):
    """All of it."""
