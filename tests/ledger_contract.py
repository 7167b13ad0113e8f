"""What the ledger promises of runs: one suite, for DynamoDB in memory and for moto's."""

from datetime import timedelta

import pytest

from autoops.domain.references import Reference
from autoops.errors import InvalidInput
from gate_bench import GateBench
from samples import NOON, RUN, claim, opened, record, step

ANSWER = Reference(artifact="default/" + "a" * 64, bytes=10)


class RunsContract:
    """How a run opens, changes and closes."""

    def test_a_run_opens_with_its_whole_ceiling_available(self, bench: GateBench) -> None:
        assert bench.ledger.open_run(opened(1_000)) == opened(1_000)
        assert bench.money(RUN) == (1_000, 0, 0)
        assert bench.view(RUN).status == "RUNNING"

    def test_opened_again_by_the_same_execution_the_first_opening_stands(
        self, bench: GateBench
    ) -> None:
        bench.ledger.open_run(opened(1_000))
        bench.ask(RUN, claim())
        later = opened(9_999).model_copy(update={"opened_at": NOON + timedelta(hours=1)})
        assert bench.ledger.open_run(later) == opened(1_000)
        assert bench.money(RUN) == (900, 100, 0)

    def test_another_execution_cannot_open_the_same_run(self, bench: GateBench) -> None:
        bench.ledger.open_run(opened())
        with pytest.raises(InvalidInput, match="another execution"):
            bench.ledger.open_run(
                opened(execution="arn:aws:states:::execution:answer-question:other")
            )

    def test_the_end_of_a_child_closes_nothing(self, bench: GateBench) -> None:
        bench.ledger.open_run(opened())
        assert not bench.ledger.close_run("ask-model:r1-abc", "FAILED", "BudgetExceeded", NOON, 0)
        assert bench.view(RUN).status == "RUNNING"
        assert bench.ledger.view("ask-model:r1-abc") is None

    def test_a_run_closes_once_and_a_late_event_changes_nothing(self, bench: GateBench) -> None:
        bench.ledger.open_run(opened())
        assert bench.ledger.close_run(RUN.root, "SUCCEEDED", None, NOON, 0)
        assert not bench.ledger.close_run(RUN.root, "FAILED", "States.Timeout", NOON, 0)
        assert (bench.view(RUN).status, bench.view(RUN).error) == ("SUCCEEDED", None)

    @pytest.mark.parametrize("told", ["States.TaskFailed", None])
    def test_the_error_that_a_step_noted_comes_before_what_step_functions_says(
        self, bench: GateBench, told: str | None
    ) -> None:
        bench.ledger.open_run(opened())
        bench.ledger.note_error(RUN, "BudgetExceeded")
        bench.ledger.close_run(RUN.root, "ABORTED" if told is None else "FAILED", told, NOON, 0)
        assert bench.view(RUN).error == "BudgetExceeded"

    def test_without_a_noted_error_step_functions_has_the_word(self, bench: GateBench) -> None:
        bench.ledger.open_run(opened())
        bench.ledger.close_run(RUN.root, "TIMED_OUT", "States.Timeout", NOON, 0)
        assert bench.view(RUN).error == "States.Timeout"

    def test_an_error_that_was_overcome_is_not_the_error_of_a_run_that_succeeded(
        self, bench: GateBench
    ) -> None:
        bench.ledger.open_run(opened())
        bench.ledger.note_error(RUN, "AdmissionLost")
        bench.ledger.close_run(RUN.root, "SUCCEEDED", None, NOON, 0)
        assert bench.view(RUN).error is None

    def test_a_run_that_never_opened_has_no_record_and_takes_no_notes(
        self, bench: GateBench
    ) -> None:
        bench.ledger.note_error(RUN, "InvalidInput")
        bench.ledger.keep_result(RUN, "answered", ANSWER)
        assert bench.ledger.view(RUN.root) is None
        assert not bench.ledger.close_run(RUN.root, "FAILED", "InvalidInput", NOON, 0)

    def test_the_result_is_kept_and_the_same_again_changes_nothing(self, bench: GateBench) -> None:
        bench.ledger.open_run(opened())
        bench.ledger.keep_result(RUN, "answered", ANSWER)
        bench.ledger.keep_result(RUN, "answered", ANSWER)
        assert (bench.view(RUN).outcome, bench.view(RUN).result) == ("answered", ANSWER)

    def test_steps_come_back_in_the_order_in_which_they_started(self, bench: GateBench) -> None:
        bench.ledger.open_run(opened())
        floats = {"scores": [0.1, {"d": 1e-7}], "n": 3, "flag": True}
        bench.ledger.record_step(RUN, step(2, error="ModelThrottled"))
        bench.ledger.record_step(RUN, step(0))
        bench.ledger.record_step(RUN, step(1, output=floats))
        assert [each.request[-1] for each in bench.view(RUN).steps] == ["0", "1", "2"]
        assert bench.view(RUN).steps[1].output == floats

    def test_a_run_is_known_by_what_it_was_opened_with_and_where_it_stands(
        self, bench: GateBench
    ) -> None:
        assert bench.ledger.run_state(RUN.root) is None
        bench.ledger.open_run(opened())
        state = bench.ledger.run_state(RUN.root)
        assert state is not None
        assert (state.opened, state.status, state.redrive) == (opened(), "RUNNING", 0)
        assert (state.paused, state.stopped) == (False, False)

    def test_a_run_pauses_and_goes_on_as_long_as_it_runs(self, bench: GateBench) -> None:
        assert not bench.ledger.pause(RUN.root, paused=True), "there is none"
        bench.ledger.open_run(opened())
        for paused in (True, True, False):
            assert bench.ledger.pause(RUN.root, paused=paused)
            assert bench.view(RUN).paused is paused
        bench.ledger.close_run(RUN.root, "FAILED", None, NOON, 0)
        assert not bench.ledger.pause(RUN.root, paused=True)

    def test_a_run_is_stopped_once_and_for_all(self, bench: GateBench) -> None:
        assert not bench.ledger.stop(RUN.root), "there is none"
        bench.ledger.open_run(opened())
        assert bench.ledger.stop(RUN.root)
        assert bench.ledger.stop(RUN.root)
        bench.ledger.close_run(RUN.root, "ABORTED", None, NOON, 0)
        assert not bench.ledger.reopen(RUN.root, 1)
        assert (bench.view(RUN).status, bench.view(RUN).stopped) == ("ABORTED", True)

    def test_a_ceiling_grows_up_to_the_most_and_the_money_with_it(self, bench: GateBench) -> None:
        assert not bench.ledger.raise_ceiling(RUN.root, 1, 5_000), "there is none"
        bench.ledger.open_run(opened(1_000))
        assert bench.ledger.raise_ceiling(RUN.root, 4_000, 5_000)
        assert not bench.ledger.raise_ceiling(RUN.root, 1, 5_000)
        assert (bench.budget(RUN).ceiling, bench.money(RUN)) == (5_000, (5_000, 0, 0))

    def test_a_raised_ceiling_lets_the_run_be_announced_again(self, bench: GateBench) -> None:
        bench.ledger.open_run(opened(1_000))
        for number, warned in enumerate((False, True, False, True)):
            if number == 2:
                bench.ledger.raise_ceiling(RUN.root, 1_000, 5_000)
                assert not bench.budget(RUN).warned
            asked = claim(call=f"{RUN.root}/AskModel/{number}/0", worst=500)
            bench.ask(RUN, asked, token=None)
            begun = bench.admissions.begin(RUN, asked, bench.gate.lease_end())
            assert begun is not None
            bench.gate.settle(begun.admission, record(begun.admission, cost=450))
            assert bench.budget(RUN).warned is warned
        kinds = [kind for kind, _ in bench.events.published]
        assert kinds == ["run.near_ceiling"] * 2

    def test_a_closed_run_is_reopened_once_by_each_redrive(self, bench: GateBench) -> None:
        bench.ledger.open_run(opened())
        bench.ledger.close_run(RUN.root, "FAILED", "States.Timeout", NOON, 0)
        assert not bench.ledger.reopen(RUN.root, 0)
        assert bench.ledger.reopen(RUN.root, 1)
        assert not bench.ledger.reopen(RUN.root, 1)
        seen = bench.view(RUN)
        assert (seen.status, seen.error, seen.redrive) == ("RUNNING", None, 1)

    def test_an_end_counts_unless_a_later_one_is_known(self, bench: GateBench) -> None:
        bench.ledger.open_run(opened())
        assert bench.ledger.close_run(RUN.root, "SUCCEEDED", None, NOON, 1)
        assert not bench.ledger.close_run(RUN.root, "FAILED", None, NOON, 0)
        assert not bench.ledger.close_run(RUN.root, "FAILED", None, NOON, 1)
        assert bench.ledger.close_run(RUN.root, "FAILED", None, NOON, 2)
        assert (bench.view(RUN).status, bench.view(RUN).redrive) == ("FAILED", 2)
