"""What every ledger promises: one suite for the one in memory and for the one on DynamoDB."""

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import pytest

from autoops.domain.admissions import Admission, AdmissionState
from autoops.domain.ledger import Budget, RunView
from autoops.domain.references import Reference
from autoops.errors import (
    AdmissionLost,
    BudgetExceeded,
    CallInProgress,
    InvalidInput,
    RunStopped,
)
from autoops.ports import Ledger
from samples import CALL, NOON, RUN, claim, opened, record, step

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER = Reference(artifact="default/" + "a" * 64, bytes=10)


class ViewedLedger(Ledger, Protocol):
    """A ledger that can be looked at."""

    def view(self, root: str) -> RunView | None: ...


def seen(ledger: ViewedLedger) -> RunView:
    """The run's record, its money checked."""
    view = ledger.view(RUN.root)
    assert view is not None
    budget = view.budget
    assert budget.available + budget.reserved + budget.spent == budget.ceiling
    assert budget.reserved >= 0
    assert budget.spent >= 0
    return view


def money(ledger: ViewedLedger) -> tuple[int, int, int]:
    """Available, reserved, spent."""
    budget: Budget = seen(ledger).budget
    return budget.available, budget.reserved, budget.spent


def state(ledger: ViewedLedger) -> AdmissionState:
    (admission,) = seen(ledger).admissions
    return admission.state


def calling(ledger: ViewedLedger, worst: int = 100) -> Admission:
    ledger.admit(RUN, claim(worst=worst))
    return ledger.begin(RUN, claim(worst=worst)).admission


class OpeningContract:
    """How a run opens and closes."""

    def test_a_run_opens_with_its_whole_ceiling_available(self, ledger: ViewedLedger) -> None:
        assert ledger.open_run(opened(1_000)) == opened(1_000)
        assert money(ledger) == (1_000, 0, 0)
        assert seen(ledger).status == "RUNNING"

    def test_opened_again_by_the_same_execution_the_first_opening_stands(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        ledger.admit(RUN, claim())
        later = opened(9_999).model_copy(update={"opened_at": NOON + timedelta(hours=1)})
        assert ledger.open_run(later) == opened(1_000)
        assert money(ledger) == (900, 100, 0)

    def test_another_execution_cannot_open_the_same_run(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened())
        with pytest.raises(InvalidInput, match="another execution"):
            ledger.open_run(opened(execution="arn:aws:states:::execution:answer-question:other"))

    def test_the_end_of_a_child_closes_nothing(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened())
        assert not ledger.close_run("ask-model:r1-abc", "FAILED", "BudgetExceeded", NOON)
        assert seen(ledger).status == "RUNNING"
        assert ledger.view("ask-model:r1-abc") is None

    def test_a_run_closes_once_and_a_late_event_changes_nothing(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened())
        assert ledger.close_run(RUN.root, "SUCCEEDED", None, NOON)
        assert not ledger.close_run(RUN.root, "FAILED", "States.Timeout", NOON)
        assert (seen(ledger).status, seen(ledger).error) == ("SUCCEEDED", None)

    @pytest.mark.parametrize("told", ["States.TaskFailed", None])
    def test_the_error_that_a_step_noted_comes_before_what_step_functions_says(
        self, ledger: ViewedLedger, told: str | None
    ) -> None:
        ledger.open_run(opened())
        ledger.note_error(RUN, "BudgetExceeded")
        ledger.close_run(RUN.root, "ABORTED" if told is None else "FAILED", told, NOON)
        assert seen(ledger).error == "BudgetExceeded"

    def test_without_a_noted_error_step_functions_has_the_word(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened())
        ledger.close_run(RUN.root, "TIMED_OUT", "States.Timeout", NOON)
        assert seen(ledger).error == "States.Timeout"

    def test_an_error_that_was_overcome_is_not_the_error_of_a_run_that_succeeded(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened())
        ledger.note_error(RUN, "AdmissionLost")
        ledger.close_run(RUN.root, "SUCCEEDED", None, NOON)
        assert seen(ledger).error is None

    def test_a_run_that_never_opened_has_no_record_and_takes_no_notes(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.note_error(RUN, "InvalidInput")
        ledger.keep_result(RUN, "answered", ANSWER)
        assert ledger.view(RUN.root) is None
        assert not ledger.close_run(RUN.root, "FAILED", "InvalidInput", NOON)

    def test_the_result_is_kept_and_the_same_again_changes_nothing(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened())
        ledger.keep_result(RUN, "answered", ANSWER)
        ledger.keep_result(RUN, "answered", ANSWER)
        assert (seen(ledger).outcome, seen(ledger).result) == ("answered", ANSWER)

    def test_steps_come_back_in_the_order_in_which_they_started(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened())
        floats = {"scores": [0.1, {"d": 1e-7}], "n": 3, "flag": True}
        ledger.record_step(RUN, step(2, error="ModelThrottled"))
        ledger.record_step(RUN, step(0))
        ledger.record_step(RUN, step(1, output=floats))
        assert [each.request[-1] for each in seen(ledger).steps] == ["0", "1", "2"]
        assert seen(ledger).steps[1].output == floats


class AdmissionContract:
    """How a call is let in."""

    def test_an_admitted_call_reserves_its_worst_case(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened(1_000))
        admission = ledger.admit(RUN, claim(worst=100))
        assert (admission.state, admission.attempt) == (AdmissionState.GRANTED, 0)
        assert money(ledger) == (900, 100, 0)

    def test_asked_again_for_the_same_call_it_reserves_nothing_more(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(100))
        first = ledger.admit(RUN, claim())
        assert ledger.admit(RUN, claim()) == first
        assert money(ledger) == (0, 100, 0)

    def test_a_call_over_what_is_left_is_refused_and_reserves_nothing(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(100))
        with pytest.raises(BudgetExceeded, match="raise the budget"):
            ledger.admit(RUN, claim(worst=101))
        assert money(ledger) == (100, 0, 0)
        assert seen(ledger).admissions == ()

    def test_the_last_cent_may_be_reserved(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened(100))
        ledger.admit(RUN, claim(worst=100))
        assert money(ledger) == (0, 100, 0)

    def test_parallel_calls_never_reserve_more_than_the_ceiling(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened(100))
        branches = [claim(call=f"{CALL}/{branch}", worst=30) for branch in range(8)]
        for admitted in branches[:3]:
            ledger.admit(RUN, admitted)
        for refused in branches[3:]:
            with pytest.raises(BudgetExceeded):
                ledger.admit(RUN, refused)
        assert money(ledger) == (10, 90, 0)
        for admitted in branches[:3]:
            begun = ledger.begin(RUN, admitted).admission
            ledger.settle(RUN, begun, record(begun, cost=20))
        ledger.admit(RUN, branches[3])
        assert money(ledger) == (10, 30, 60)

    def test_another_request_does_not_take_over_a_path_that_is_under_way(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened())
        ledger.admit(RUN, claim())
        with pytest.raises(InvalidInput, match="another request"):
            ledger.admit(RUN, claim(fingerprint="e" * 64))

    def test_another_request_on_a_settled_path_is_a_new_call(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened(1_000))
        first = calling(ledger)
        ledger.settle(RUN, first, record(first))
        other = claim(fingerprint="e" * 64)
        ledger.admit(RUN, other)
        assert money(ledger) == (860, 100, 40)
        begun = ledger.begin(RUN, other)
        assert begun.now
        assert begun.admission.attempt == 2, "its reply must not be looked for in the first one's"

    def test_a_call_that_was_settled_is_admitted_without_money(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened(100))
        first = calling(ledger)
        ledger.settle(RUN, first, record(first, cost=100))
        assert ledger.admit(RUN, claim()).state is AdmissionState.SETTLED
        assert money(ledger) == (0, 0, 100)

    def test_a_run_that_never_opened_admits_nothing(self, ledger: ViewedLedger) -> None:
        with pytest.raises(RunStopped):
            ledger.admit(RUN, claim())

    def test_a_call_dearer_than_its_worst_case_is_counted_and_stops_the_run(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(100))
        begun = calling(ledger)
        ledger.settle(RUN, begun, record(begun, cost=130))
        assert money(ledger) == (-30, 0, 130)
        with pytest.raises(RunStopped):
            ledger.admit(RUN, claim(call=f"{CALL}1", worst=0))


class CallContract:
    """What becomes of an admitted call."""

    def test_one_worker_begins_and_a_second_sees_that_it_is_under_way(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened())
        ledger.admit(RUN, claim())
        first, second = ledger.begin(RUN, claim()), ledger.begin(RUN, claim())
        assert (first.now, second.now) == (True, False)
        assert first.admission == second.admission
        assert (first.admission.state, first.admission.attempt) == (AdmissionState.CALLING, 1)

    @pytest.mark.parametrize("fingerprint", ["f" * 64, "e" * 64])
    def test_a_call_that_was_not_admitted_does_not_begin(
        self, ledger: ViewedLedger, fingerprint: str
    ) -> None:
        ledger.open_run(opened())
        if fingerprint == "e" * 64:
            ledger.admit(RUN, claim())
        with pytest.raises(AdmissionLost):
            ledger.begin(RUN, claim(fingerprint=fingerprint))

    def test_settling_replaces_the_worst_case_by_the_actual_cost(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        begun = calling(ledger)
        ledger.settle(RUN, begun, record(begun, cost=40))
        assert money(ledger) == (960, 0, 40)
        assert ledger.call_record(RUN, CALL) == record(begun, cost=40)
        assert seen(ledger).calls == (record(begun, cost=40),)
        assert state(ledger) is AdmissionState.SETTLED

    def test_settled_twice_it_is_charged_once(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened(1_000))
        begun = calling(ledger)
        ledger.settle(RUN, begun, record(begun))
        ledger.settle(RUN, begun, record(begun))
        assert money(ledger) == (960, 0, 40)

    def test_a_settled_call_begins_as_settled(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened())
        begun = calling(ledger)
        ledger.settle(RUN, begun, record(begun))
        again = ledger.begin(RUN, claim())
        assert (again.now, again.admission.state) == (False, AdmissionState.SETTLED)

    def test_an_attempt_refused_without_charge_keeps_its_reservation(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        ledger.uncharge(RUN, calling(ledger))
        assert (money(ledger), state(ledger)) == ((900, 100, 0), AdmissionState.GRANTED)
        assert ledger.begin(RUN, claim()).admission.attempt == 2

    def test_a_call_that_is_not_made_gives_its_money_back(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened(1_000))
        ledger.release(RUN, calling(ledger))
        assert (money(ledger), state(ledger)) == ((1_000, 0, 0), AdmissionState.RELEASED)
        with pytest.raises(AdmissionLost):
            ledger.begin(RUN, claim())

    def test_a_lost_attempt_is_charged_in_full_and_the_next_one_reserved(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        again = ledger.repeat(RUN, calling(ledger))
        assert (again.attempt, again.lost) == (2, (1,))
        assert money(ledger) == (800, 100, 100)

    def test_without_money_for_a_repeat_the_lost_attempt_is_charged_all_the_same(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(150))
        with pytest.raises(BudgetExceeded):
            ledger.repeat(RUN, calling(ledger))
        assert (money(ledger), state(ledger)) == ((50, 0, 100), AdmissionState.LOST)

    def test_of_two_workers_that_repeat_one_is_refused(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened(1_000))
        begun = calling(ledger)
        ledger.repeat(RUN, begun)
        with pytest.raises(CallInProgress):
            ledger.repeat(RUN, begun)
        assert money(ledger) == (800, 100, 100)

    def test_a_lost_call_is_charged_in_full_and_has_to_be_admitted_anew(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        ledger.lose(RUN, calling(ledger))
        assert (money(ledger), state(ledger)) == ((900, 0, 100), AdmissionState.LOST)
        with pytest.raises(AdmissionLost):
            ledger.begin(RUN, claim())
        ledger.admit(RUN, claim())
        assert money(ledger) == (800, 100, 100)

    @pytest.mark.parametrize("move", ["uncharge", "release", "lose", "repeat"])
    def test_a_worker_whose_attempt_was_taken_over_moves_no_money(
        self, ledger: ViewedLedger, move: str
    ) -> None:
        ledger.open_run(opened(1_000))
        begun = calling(ledger)
        ledger.repeat(RUN, begun)
        act: Callable[..., object] = getattr(ledger, move)
        with pytest.raises(CallInProgress):
            act(RUN, begun)
        assert money(ledger) == (800, 100, 100)


class LateContract:
    """A worker that was given up and still comes back."""

    def test_a_late_settle_replaces_worst_by_actual_and_its_reply_does_not_count(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        zombie = calling(ledger)
        second = ledger.repeat(RUN, zombie)
        ledger.settle(RUN, second, record(second, cost=50))
        with pytest.raises(CallInProgress):
            ledger.settle(RUN, zombie, record(zombie, cost=30))
        assert money(ledger) == (920, 0, 80)
        kept = ledger.call_record(RUN, CALL)
        assert kept is not None
        assert (kept.attempt, kept.cost) == (2, 50)

    def test_a_late_settle_before_the_repeat_ends_leaves_the_repeat_under_way(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        zombie = calling(ledger)
        second = ledger.repeat(RUN, zombie)
        with pytest.raises(CallInProgress):
            ledger.settle(RUN, zombie, record(zombie, cost=30))
        assert money(ledger) == (870, 100, 30)
        ledger.settle(RUN, second, record(second, cost=50))
        assert money(ledger) == (920, 0, 80)

    def test_a_late_settle_of_a_call_given_up_is_counted_once(self, ledger: ViewedLedger) -> None:
        ledger.open_run(opened(1_000))
        zombie = calling(ledger)
        ledger.lose(RUN, zombie)
        with pytest.raises(CallInProgress):
            ledger.settle(RUN, zombie, record(zombie, cost=30))
        with pytest.raises(AdmissionLost):
            ledger.settle(RUN, zombie, record(zombie, cost=30))
        assert money(ledger) == (970, 0, 30)

    def test_a_worker_of_a_lost_admission_cannot_settle_the_one_that_followed(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        zombie = calling(ledger)
        ledger.lose(RUN, zombie)
        fresh = calling(ledger)
        assert fresh.attempt == 2
        with pytest.raises(CallInProgress):
            ledger.settle(RUN, zombie, record(zombie, cost=30))
        assert (money(ledger), state(ledger)) == ((870, 100, 30), AdmissionState.CALLING)
        ledger.settle(RUN, fresh, record(fresh, cost=50))
        assert money(ledger) == (920, 0, 80)

    def test_a_late_settle_dearer_than_the_worst_case_stops_the_run(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        zombie = calling(ledger)
        ledger.repeat(RUN, zombie)
        with pytest.raises(CallInProgress):
            ledger.settle(RUN, zombie, record(zombie, cost=170))
        assert money(ledger) == (730, 100, 170)
        with pytest.raises(RunStopped):
            ledger.admit(RUN, claim(call=f"{CALL}1"))

    def test_settling_a_call_that_gave_its_money_back_is_refused(
        self, ledger: ViewedLedger
    ) -> None:
        ledger.open_run(opened(1_000))
        begun = calling(ledger)
        ledger.release(RUN, begun)
        with pytest.raises(AdmissionLost):
            ledger.settle(RUN, begun, record(begun))
        assert money(ledger) == (1_000, 0, 0)


class LedgerContract(OpeningContract, AdmissionContract, CallContract, LateContract):
    """All of it."""
