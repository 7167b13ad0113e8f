"""The gate: who is let in, who waits and why, who is turned away, and who is let in next."""

from datetime import timedelta

import pytest

from autoops.domain.admissions import Admission, AdmissionState, Limit, Wait
from autoops.domain.contracts import Run
from autoops.domain.ledger import OnBudget
from autoops.errors import (
    BudgetExceeded,
    DependencyUnavailable,
    InvalidInput,
    RunStopped,
)
from fakes import NOON, raising
from gate_bench import DOLLAR, GateBench
from samples import CALL, MODEL, RUN, claim, record

ONE = {"*": Limit(concurrency=1)}
DOWN = DependencyUnavailable("dynamodb: down")


def other(number: int = 1) -> str:
    """The path of another call."""
    return f"{CALL}/{number}"


def run_of(tenant: str, name: str = "r1") -> Run:
    root = f"answer-question:{tenant}-{name}"
    return Run(id=f"{tenant}-{name}", root=root, workflow="answer-question", tenant=tenant)


def opened(limits: dict[str, Limit] | None = None, **options: object) -> GateBench:
    bench = GateBench(limits or {})
    bench.open(RUN, **options)  # type: ignore[arg-type]  # a ceiling, or what a run says of itself
    return bench


def full() -> tuple[GateBench, Admission]:
    """A bench on which the one slot is held, and one call that waits for it."""
    bench = opened(ONE)
    bench.ask(RUN, claim(other()), "holder")
    return bench, bench.ask(RUN, claim(), "waiter")


def standing(bench: GateBench, call: str = CALL) -> Admission:
    """A call of the run as it stands."""
    found = bench.admissions.standing(RUN.root, call)
    assert found is not None
    return found


def answered(bench: GateBench) -> list[str]:
    return [token for token, _ in bench.workflows.answered]


class TestAsk:
    def test_a_call_is_let_in_with_its_money_and_its_slot(self) -> None:
        bench = opened(ONE)
        admission = bench.ask(RUN, claim())
        assert (admission.state, admission.slot, admission.wait) == ("granted", 0, None)
        assert (bench.money(RUN), bench.held(MODEL)) == ((DOLLAR - 100, 100, 0), 1)

    def test_a_model_without_a_limit_holds_no_slot_and_has_no_queue(self) -> None:
        bench = opened({"another-model": Limit(concurrency=1)})
        assert bench.ask(RUN, claim()).slot is None
        assert (bench.held(MODEL), bench.gate.serve(MODEL)) == (0, False)

    def test_a_stopped_run_is_refused(self) -> None:
        bench = opened()
        bench.ledger.stop(RUN.root)
        with pytest.raises(RunStopped, match="was stopped"):
            bench.ask(RUN, claim())

    def test_a_run_that_has_ended_is_refused_though_its_execution_still_ends(self) -> None:
        bench = opened()
        bench.ledger.close_run(RUN.root, "FAILED", None, NOON, 0)
        with pytest.raises(RunStopped, match="has ended"):
            bench.ask(RUN, claim())

    def test_a_run_whose_execution_is_gone_is_refused(self) -> None:
        bench = opened()
        bench.ledger.close_run(RUN.root, "FAILED", None, NOON, 0)
        bench.workflows.running.clear()
        with pytest.raises(RunStopped, match="has ended"):
            bench.ask(RUN, claim())

    def test_a_run_that_was_redriven_goes_on(self) -> None:
        bench = opened()
        bench.ledger.close_run(RUN.root, "FAILED", "ModelFaulted", NOON, 0)
        bench.workflows.running[RUN.root] = 1
        assert bench.ask(RUN, claim()).state is AdmissionState.GRANTED
        assert (bench.view(RUN).status, bench.view(RUN).redrive) == ("RUNNING", 1)

    def test_a_paused_run_waits(self) -> None:
        bench = opened()
        bench.operations.pause(RUN.root)
        assert bench.ask(RUN, claim()).wait is Wait.PAUSED
        assert bench.money(RUN) == (DOLLAR, 0, 0)

    def test_without_money_a_run_ends_unless_it_asks_for_more(self) -> None:
        with pytest.raises(BudgetExceeded, match="raise the budget"):
            opened(ceiling=99).ask(RUN, claim())

    def test_a_run_that_asks_for_more_money_waits_and_is_announced(self) -> None:
        bench = opened(ceiling=99, on_budget=OnBudget.ASK)
        assert bench.ask(RUN, claim()).wait is Wait.MONEY
        detail = {"run": RUN.root, "tenant": RUN.tenant}
        assert bench.events.published == [("run.out_of_money", detail)]

    def test_an_announcement_that_fails_stops_no_call(self) -> None:
        bench = opened(ceiling=99, on_budget=OnBudget.ASK)
        bench.events.watch = raising("before publish", DependencyUnavailable("events: down"))
        assert bench.ask(RUN, claim()).wait is Wait.MONEY

    def test_another_request_on_a_path_under_way_is_bad_input(self) -> None:
        bench = opened()
        bench.ask(RUN, claim())
        with pytest.raises(InvalidInput, match="another request"):
            bench.ask(RUN, claim(fingerprint="e" * 64))

    def test_who_waits_keeps_its_place_when_it_asks_again(self) -> None:
        bench, waiting = full()
        bench.clock.advance(timedelta(seconds=1))
        bench.ask(RUN, claim(other(2)), "third")
        again = bench.ask(RUN, claim(), "waiter-again")
        assert (again.asked_at, again.asker.token) == (waiting.asked_at, "waiter-again")
        assert bench.queue(MODEL) == [CALL, other(2)]

    @pytest.mark.parametrize("end", ["lose", "release"])
    def test_a_call_that_ended_without_a_reply_may_be_asked_for_anew(self, end: str) -> None:
        bench = opened(ONE)
        bench.ask(RUN, claim())
        begun = bench.admissions.begin(RUN, claim(), bench.gate.lease_end())
        assert begun is not None
        getattr(bench.admissions, end)(begun.admission)
        assert bench.ask(RUN, claim()).state is AdmissionState.GRANTED
        assert bench.held(MODEL) == 1

    def test_a_slot_freed_just_before_the_call_stood_in_the_queue_is_not_lost(self) -> None:
        bench = opened(ONE)
        holder = bench.ask(RUN, claim(other()), "holder")
        left = [holder]

        def free(moment: str) -> None:
            if moment == "before park" and left:
                bench.admissions.release(left.pop())

        bench.watch = free
        bench.ask(RUN, claim(), "waiter")
        assert answered(bench) == ["waiter"]

    def test_a_reason_that_is_gone_before_the_call_waits_lets_it_in(self) -> None:
        bench = opened()
        bench.operations.pause(RUN.root)

        def resume(moment: str) -> None:
            if moment == "before park":
                bench.ledger.pause(RUN.root, paused=False)

        bench.watch = resume
        assert bench.ask(RUN, claim()).state is AdmissionState.GRANTED

    def test_a_call_that_others_move_again_and_again_is_left_to_the_retry(self) -> None:
        bench = opened()

        def flip(moment: str) -> None:
            if moment in ("before grant", "before park"):
                bench.ledger.pause(RUN.root, paused=moment == "before grant")

        bench.watch = flip
        with pytest.raises(DependencyUnavailable, match="moved while it was asked for"):
            bench.ask(RUN, claim())


class TestTryAsk:
    def test_it_lets_in_or_says_why_not_and_never_waits(self) -> None:
        bench = opened(ONE)
        asker = bench.asker(RUN)
        granted = bench.gate.try_ask(RUN, claim(), asker)
        assert isinstance(granted, Admission)
        assert bench.gate.try_ask(RUN, claim(), asker) == granted
        assert bench.gate.try_ask(RUN, claim(other()), asker) == "full"
        bench.operations.pause(RUN.root)
        assert bench.gate.try_ask(RUN, claim(other()), asker) == "paused"
        assert bench.queue(MODEL) == []


class TestServe:
    def test_tenants_take_turns_and_the_oldest_of_each_comes_first(self) -> None:
        bench = GateBench(dict(ONE))
        order = [("acme", "a1"), ("acme", "a2"), ("acme", "a3"), ("best", "b1"), ("cone", "c1")]
        blocker = run_of("zeno")
        bench.open(blocker)
        bench.ask(blocker, claim("blocker"))
        for tenant, name in order:
            run = run_of(tenant, name)
            bench.open(run)
            bench.clock.advance(timedelta(seconds=1))
            bench.ask(run, claim(name), name)
        bench.admissions.release(next(bench.admissions.of_run(blocker.root)))
        for _ in order:
            assert bench.gate.serve(MODEL)
            (held,) = [one for one in bench.admissions.open() if one.state == "granted"]
            bench.admissions.release(held)
        assert answered(bench) == ["a1", "b1", "c1", "a2", "a3"]
        assert not bench.gate.serve(MODEL), "nobody waits any more"

    def test_who_does_not_wait_any_more_gives_its_turn_to_the_next(self) -> None:
        bench, _ = full()
        bench.ask(RUN, claim(other(2)), "third")
        bench.workflows.gone.add("waiter")
        bench.admissions.release(standing(bench, other()))
        assert bench.gate.serve(MODEL)
        assert answered(bench) == ["third"]
        assert bench.states(RUN)[CALL] is AdmissionState.RELEASED
        assert bench.held(MODEL) == 1

    def test_without_a_free_slot_nobody_is_let_in(self) -> None:
        bench, _ = full()
        assert not bench.gate.serve(MODEL)
        assert bench.queue(MODEL) == [CALL]

    def test_a_run_that_was_stopped_meanwhile_is_turned_away_and_the_next_let_in(self) -> None:
        bench, _ = full()
        late = run_of("zeno")
        bench.open(late)
        bench.ask(late, claim("late"), "late")
        bench.ledger.stop(RUN.root)
        bench.admissions.release(standing(bench, other()))
        assert bench.gate.serve(MODEL)
        assert bench.workflows.failed == [("waiter", "RunStopped")]
        assert answered(bench) == ["late"]

    def test_what_goes_wrong_while_the_next_is_let_in_does_not_harm_who_ended(self) -> None:
        bench, _ = full()
        begun = bench.admissions.begin(RUN, claim(other()), bench.gate.lease_end())
        assert begun is not None
        bench.watch = raising("before next_in_line", DOWN)
        assert bench.gate.settle(begun.admission, record(begun.admission))
        assert answered(bench) == []
        assert bench.gate.serve(MODEL), "the next one, or the sweep, lets in who was forgotten"


class TestLetIn:
    def test_who_waited_for_a_run_that_was_paused_is_told(self) -> None:
        bench = opened()
        bench.operations.pause(RUN.root)
        waiting = bench.ask(RUN, claim())
        assert bench.gate.let_in(waiting) == "paused"
        bench.ledger.pause(RUN.root, paused=False)
        assert bench.gate.let_in(waiting) is None
        assert bench.workflows.answered == [("token", {"call": CALL, "worst": 100})]
        assert bench.gate.let_in(waiting) == "standing", "once"

    def test_who_is_gone_leaves_no_money_and_no_slot_behind(self) -> None:
        bench = opened(ONE)
        bench.operations.pause(RUN.root)
        waiting = bench.ask(RUN, claim())
        bench.ledger.pause(RUN.root, paused=False)
        bench.workflows.gone.add("token")
        assert bench.gate.let_in(waiting) == "standing"
        assert (bench.money(RUN), bench.held(MODEL)) == ((DOLLAR, 0, 0), 0)

    @pytest.mark.parametrize("end", ["stopped", "closed"])
    def test_who_waits_for_a_run_that_ended_is_turned_away(self, end: str) -> None:
        bench = opened()
        bench.operations.pause(RUN.root)
        waiting = bench.ask(RUN, claim())
        if end == "stopped":
            bench.ledger.stop(RUN.root)
        else:
            bench.ledger.close_run(RUN.root, "FAILED", None, NOON, 0)
        assert bench.gate.let_in(waiting) == end
        assert bench.workflows.failed == [("token", "RunStopped")]
        assert bench.states(RUN) == {CALL: AdmissionState.RELEASED}

    def test_who_waits_while_the_money_is_spent_by_others_is_turned_away(self) -> None:
        bench = opened(ceiling=150)
        bench.operations.pause(RUN.root)
        waiting = bench.ask(RUN, claim())
        bench.ledger.pause(RUN.root, paused=False)
        bench.ask(RUN, claim(other()))
        assert bench.gate.let_in(waiting) == "money"
        assert bench.workflows.failed == [("token", "BudgetExceeded")]

    def test_who_waits_for_one_reason_may_have_to_wait_for_another(self) -> None:
        bench = opened(ONE, ceiling=250, on_budget=OnBudget.ASK)
        bench.ask(RUN, claim(other()), "holder")
        bench.operations.pause(RUN.root)
        waiting = bench.ask(RUN, claim())
        assert waiting.wait is Wait.PAUSED
        bench.ledger.pause(RUN.root, paused=False)
        assert bench.gate.let_in(waiting) == "full"
        full_now = standing(bench)
        assert (full_now.wait, bench.queue(MODEL)) == (Wait.FULL, [CALL])
        bench.operations.pause(RUN.root)
        assert bench.gate.let_in(full_now) == "paused"
        assert (standing(bench).wait, bench.queue(MODEL)) == (Wait.PAUSED, [])


class TestTurnAway:
    def test_the_token_fails_by_the_errors_name_before_the_waiting_ends(self) -> None:
        bench, waiting = full()
        bench.watch = raising("before unpark", DOWN)
        with pytest.raises(DependencyUnavailable):
            bench.gate.turn_away(waiting, RunStopped("x"))
        assert bench.workflows.failed == [("waiter", "RunStopped")]
        bench.gate.turn_away(waiting, RunStopped("x"))
        assert (bench.queue(MODEL), bench.states(RUN)[CALL]) == ([], AdmissionState.RELEASED)

    def test_who_waits_without_a_token_is_ended_silently(self) -> None:
        bench = opened()
        bench.operations.pause(RUN.root)
        waiting = bench.ask(RUN, claim(), token=None)
        bench.gate.turn_away(waiting, RunStopped("x"))
        assert bench.workflows.failed == []
        assert bench.states(RUN) == {CALL: AdmissionState.RELEASED}
