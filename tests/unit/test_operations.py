"""What an operator does to a run, and what becomes of its calls."""

import pytest

from autoops.domain.admissions import AdmissionState, Limit, Wait
from autoops.domain.ledger import OnBudget
from autoops.errors import DependencyUnavailable, InvalidInput
from fakes import NOON, raising, tool
from gate_bench import DOLLAR, GateBench
from samples import ANSWER, CALL, MODEL, RUN, claim

ASKED = claim(worst=1_000_000)
OTHER = claim(call=f"{CALL}/1", worst=1_000_000)


@pytest.fixture
def bench() -> GateBench:
    made = GateBench({"*": Limit(concurrency=1)})
    made.open(RUN)
    return made


def answered(bench: GateBench) -> list[str]:
    return [token for token, _ in bench.workflows.answered]


@pytest.mark.parametrize("operation", ["pause", "resume", "stop", "redrive"])
def test_a_run_that_is_not_there_is_named(bench: GateBench, operation: str) -> None:
    with pytest.raises(InvalidInput, match="run nope:r9: there is none"):
        getattr(bench.operations, operation)("nope:r9")
    with pytest.raises(InvalidInput, match="there is none"):
        bench.operations.raise_budget("nope:r9", 1)


@pytest.mark.parametrize("operation", ["pause", "resume"])
def test_a_run_that_has_ended_is_not_paused_and_not_resumed(
    bench: GateBench, operation: str
) -> None:
    bench.ledger.close_run(RUN.root, "FAILED", None, NOON, 0)
    with pytest.raises(InvalidInput, match=r"has ended \(FAILED\)"):
        getattr(bench.operations, operation)(RUN.root)


def test_a_call_under_way_ends_and_is_paid_though_its_run_is_paused(bench: GateBench) -> None:
    bench.ask(RUN, ASKED)
    bench.operations.pause(RUN.root)
    _, record = bench.calls(RUN).make(ASKED, lambda: tool(ANSWER))
    assert bench.money(RUN) == (DOLLAR - record.cost, 0, record.cost)


def test_a_resumed_run_lets_in_who_waited_as_far_as_there_is_room(bench: GateBench) -> None:
    bench.operations.pause(RUN.root)
    for token, asked in (("first", ASKED), ("second", OTHER)):
        assert bench.ask(RUN, asked, token).wait is Wait.PAUSED
    assert bench.operations.resume(RUN.root) == 1
    assert answered(bench) == ["first"]
    assert bench.queue(MODEL) == [OTHER.call]


def test_resumed_twice_nobody_is_told_twice(bench: GateBench) -> None:
    bench.operations.pause(RUN.root)
    bench.ask(RUN, ASKED)
    bench.operations.resume(RUN.root)
    assert bench.operations.resume(RUN.root) == 0
    assert len(bench.workflows.answered) == 1


def test_a_stopped_run_turns_away_who_waits_releases_who_is_in_and_ends_its_execution(
    bench: GateBench,
) -> None:
    bench.ask(RUN, ASKED, "in")
    bench.ask(RUN, OTHER, "waits")
    bench.operations.stop(RUN.root)
    assert bench.workflows.failed == [("waits", "RunStopped")]
    assert set(bench.states(RUN).values()) == {AdmissionState.RELEASED}
    assert (bench.money(RUN), bench.held(MODEL), bench.queue(MODEL)) == ((DOLLAR, 0, 0), 0, [])
    assert bench.workflows.stopped == [(RUN.root, "RunStopped")]


def test_a_call_under_way_of_a_stopped_run_ends_and_is_paid(bench: GateBench) -> None:
    bench.ask(RUN, ASKED)

    def stopped_meanwhile() -> object:
        bench.operations.stop(RUN.root)
        return tool(ANSWER)

    _, record = bench.calls(RUN).make(ASKED, stopped_meanwhile)  # type: ignore[arg-type]
    assert bench.money(RUN) == (DOLLAR - record.cost, 0, record.cost)


def test_nothing_is_let_in_behind_a_stop_that_broke_off(bench: GateBench) -> None:
    bench.ask(RUN, ASKED)
    bench.watch = raising("before release", DependencyUnavailable("dynamodb: down"))
    with pytest.raises(DependencyUnavailable):
        bench.operations.stop(RUN.root)
    assert bench.view(RUN).stopped
    bench.operations.stop(RUN.root)
    assert bench.money(RUN) == (DOLLAR, 0, 0)
    assert bench.workflows.stopped == [(RUN.root, "RunStopped")]


def test_a_raised_budget_lets_in_who_waited_for_money() -> None:
    bench = GateBench()
    bench.open(RUN, 10, on_budget=OnBudget.ASK)
    assert bench.ask(RUN, ASKED).wait is Wait.MONEY
    assert bench.operations.raise_budget(RUN.root, 10) == 0
    assert bench.operations.raise_budget(RUN.root, ASKED.worst) == 1
    assert answered(bench) == ["token"]
    assert bench.budget(RUN).ceiling == ASKED.worst + 20


@pytest.mark.parametrize("by", [0, -1])
def test_a_budget_only_grows(bench: GateBench, by: int) -> None:
    with pytest.raises(InvalidInput, match="more than 0"):
        bench.operations.raise_budget(RUN.root, by)


def test_no_budget_grows_past_the_accounts_ceiling(bench: GateBench) -> None:
    bench.operations.raise_budget(RUN.root, 9 * DOLLAR)
    with pytest.raises(InvalidInput, match=r"above the account's \$10"):
        bench.operations.raise_budget(RUN.root, 1)
    assert bench.budget(RUN).ceiling == 10 * DOLLAR


def test_a_redriven_run_is_open_again_before_its_first_call(bench: GateBench) -> None:
    bench.workflows.stop(RUN.root, "ModelFaulted", "")
    bench.ledger.close_run(RUN.root, "FAILED", "ModelFaulted", NOON, 0)
    bench.operations.redrive(RUN.root)
    seen = bench.view(RUN)
    assert (seen.status, seen.error, seen.redrive) == ("RUNNING", None, 1)
    assert bench.workflows.running[RUN.root] == 1


def test_a_run_that_was_stopped_is_not_redriven(bench: GateBench) -> None:
    bench.operations.stop(RUN.root)
    with pytest.raises(InvalidInput, match="was stopped"):
        bench.operations.redrive(RUN.root)
    assert RUN.root not in bench.workflows.running


def test_an_execution_that_cannot_be_redriven_leaves_the_run_closed(bench: GateBench) -> None:
    bench.workflows.running.clear()
    bench.ledger.close_run(RUN.root, "SUCCEEDED", None, NOON, 0)
    with pytest.raises(InvalidInput, match="cannot be redriven"):
        bench.operations.redrive(RUN.root)
    assert bench.view(RUN).status == "SUCCEEDED"
