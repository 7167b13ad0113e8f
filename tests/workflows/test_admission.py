"""Whole machines at the gate: limits and turns, pause, stop, money that runs out, throttling."""

from collections.abc import Iterable
from typing import Any

import pytest

from autoops.domain.admissions import AdmissionState, Limit, Wait
from autoops.domain.contracts import Run, plain
from autoops.domain.ledger import OnBudget, OpenedRun
from autoops.domain.model import Message, ModelReply, ModelRequest, PromptVersion
from autoops.errors import DependencyUnavailable, ModelFaulted, ModelThrottled
from autoops.operations import Operations
from workflows.bench import MODEL, Bench, raising, reply

GOOD = {"answered": False, "text": "They do not say.", "citations": []}
QUESTION = {"question": "what colour is the barn?"}
ABSTAINED = {"answered": False, "text": "It does not say.", "citations": []}
ROOT = "answer-question:r1"


def operations(bench: Bench) -> Operations:
    return Operations(bench.gate, account_ceiling=10_000_000_000)


def ask_model(bench: Bench, name: str, tenant: str = "default", **options: Any) -> str:
    """Start ask-model by itself as a run of that name; the execution's ARN."""
    run = Run(id=name, root=f"answer-question:{name}", workflow="answer-question", tenant=tenant)
    request = ModelRequest(
        model=MODEL,
        prompt=PromptVersion(name="answer", version=1),
        system="Answer.",
        messages=(Message(role="user", blocks=("Why?",)),),
        answer="CitedAnswer",
        max_tokens=100,
    )
    start = {
        "run": plain(run),
        "call": f"{run.root}/AskModel/0",
        "request": plain(bench.artifacts.put(tenant, plain(request))),
        "corrections": 2,
    }
    execution = bench.start("ask-model", start, name)
    bench.ledger.open_run(
        OpenedRun(
            run=run,
            execution=execution,
            ceiling=options.pop("ceiling", 100_000_000),
            opened_at=bench.now(),
            **options,
        )
    )
    return execution


def statuses(bench: Bench, executions: Iterable[str]) -> list[str]:
    return [bench.engine.describe_execution(one)["status"] for one in executions]


def waits(bench: Bench) -> list[tuple[str, Wait | None]]:
    """Who waits at the gate, and for what, the oldest first."""
    seen = [one for one in bench.gate.admissions.open() if one.state is AdmissionState.WAITING]
    return [(one.run.id, one.wait) for one in sorted(seen, key=lambda one: one.asked_at)]


class TestLimits:
    async def test_a_call_over_the_limit_waits_and_is_let_in_when_another_has_ended(
        self, bench: Bench
    ) -> None:
        bench.limits[MODEL] = Limit(concurrency=1)
        bench.model.says = [reply(GOOD)] * 3
        seen: list[int] = []
        bench.watch_calls(lambda: seen.append(bench.slots(MODEL)))
        executions = [ask_model(bench, name) for name in ("a", "b", "c")]
        for execution in executions:
            assert (await bench.engine.run_to_end(execution))["status"] == "SUCCEEDED"
        assert seen == [1, 1, 1]
        assert bench.slots(MODEL) == 0

    async def test_tenants_take_turns_and_the_oldest_comes_first_within_one(
        self, bench: Bench
    ) -> None:
        bench.limits[MODEL] = Limit(concurrency=1)
        order: list[str] = []
        bench.model.says = [reply(GOOD)] * 6
        bench.watch_calls(lambda: order.append(bench.calling()))
        blocker = bench.block(MODEL)
        executions = []
        for name, tenant in [("a1", "acme"), ("a2", "acme"), ("a3", "acme"), ("b1", "best")]:
            executions.append(ask_model(bench, name, tenant))
            await bench.engine.advance(seconds=1)
        assert [name for name, _ in waits(bench)] == ["a1", "a2", "a3", "b1"]
        blocker()
        for execution in executions:
            await bench.engine.run_to_end(execution)
        assert order == ["a1", "b1", "a2", "a3"]

    async def test_a_minute_that_is_full_lets_in_the_next_when_it_is_over(
        self, bench: Bench
    ) -> None:
        bench.limits[MODEL] = Limit(requests=2)
        bench.model.says = [reply(GOOD)] * 3
        executions = [ask_model(bench, name) for name in ("a", "b", "c")]
        await bench.engine.run_until_idle()
        assert statuses(bench, executions) == ["SUCCEEDED", "SUCCEEDED", "RUNNING"]
        bench.sweep()
        await bench.engine.run_until_idle()
        assert statuses(bench, executions)[2] == "RUNNING"
        await bench.engine.advance(seconds=61)
        bench.sweep()
        await bench.engine.run_until_idle()
        assert statuses(bench, executions)[2] == "SUCCEEDED"

    async def test_a_call_of_more_tokens_than_a_minute_has_is_made_alone(
        self, bench: Bench
    ) -> None:
        bench.limits[MODEL] = Limit(tokens=10)
        bench.model.says = [reply(GOOD)] * 2
        executions = [ask_model(bench, name) for name in ("a", "b")]
        await bench.engine.run_until_idle()
        assert statuses(bench, executions) == ["SUCCEEDED", "RUNNING"]


class TestThrottling:
    async def test_a_throttled_call_waits_without_slot_or_money_and_comes_back(
        self, bench: Bench
    ) -> None:
        bench.limits[MODEL] = Limit(concurrency=1)
        bench.model.says = [ModelThrottled("slow down"), reply(GOOD)]
        execution = ask_model(bench, "a")
        await bench.engine.run_until_idle()
        assert (bench.slots(MODEL), bench.view("answer-question:a").budget.reserved) == (0, 0)
        assert (await bench.engine.run_to_end(execution))["status"] == "SUCCEEDED"
        assert len(bench.view("answer-question:a").calls) == 1

    async def test_a_call_throttled_too_often_ends_by_its_name_and_a_redrive_tries_again(
        self, bench: Bench
    ) -> None:
        bench.model.says = [*[ModelThrottled("slow down")] * 7, reply(GOOD)]
        execution = ask_model(bench, "a")
        described = await bench.engine.run_to_end(execution)
        assert (described["status"], described["error"]) == ("FAILED", "ModelThrottled")
        assert len(bench.model.asked) == 7
        assert bench.seconds(execution) < 2 * 7 * 120
        bench.engine.redrive_execution(execution)
        assert (await bench.engine.run_to_end(execution))["status"] == "SUCCEEDED"


class TestPauseAndStop:
    async def test_a_paused_run_calls_nothing_and_goes_on_when_resumed(self, farm: Bench) -> None:
        farm.model.says = [reply(ABSTAINED)]
        execution = farm.start("answer-question", QUESTION)
        farm.after["RetrieveContextFunction"] = [lambda: operations(farm).pause(ROOT)]
        await farm.engine.advance(hours=30)
        assert (farm.model.asked, waits(farm)) == ([], [("r1", Wait.PAUSED)])
        assert farm.sweep() == 0
        assert operations(farm).resume(ROOT) == 1
        assert (await farm.engine.run_to_end(execution))["status"] == "SUCCEEDED"

    async def test_the_last_try_of_a_state_that_asks_again_and_again_is_the_one_that_is_answered(
        self, bench: Bench
    ) -> None:
        bench.model.says = [reply(GOOD)]
        refused = type("Lambda.TooManyRequestsException", (Exception,), {})
        failures = [*[DependencyUnavailable] * 3, *[refused] * 6, *[ModelFaulted] * 2]
        bench.after["AdmitFunction"] = [raising(failure("x")) for failure in failures]
        execution = ask_model(bench, "a")
        operations(bench).pause("answer-question:a")
        await bench.engine.advance(hours=1)
        assert bench.invoked.count("AdmitFunction") == 1 + len(failures)
        assert operations(bench).resume("answer-question:a") == 1
        assert (await bench.engine.run_to_end(execution))["status"] == "SUCCEEDED"

    async def test_a_stopped_run_spends_nothing_more_and_holds_nothing(self, farm: Bench) -> None:
        execution = farm.start("answer-question", QUESTION)
        farm.after["RetrieveContextFunction"] = [lambda: operations(farm).pause(ROOT)]
        await farm.engine.run_until_idle()
        operations(farm).stop(ROOT)
        await farm.engine.run_until_idle()
        await farm.rules.idle()
        described = farm.engine.describe_execution(execution)
        assert (described["status"], described["error"]) == ("ABORTED", "RunStopped")
        view = farm.view(ROOT)
        assert (view.status, view.error, view.stopped) == ("ABORTED", "RunStopped", True)
        assert view.budget.reserved == 0
        assert all(one.ended for one in view.admissions)
        assert farm.model.asked == []

    async def test_an_execution_that_was_stopped_by_hand_leaves_nothing_reserved(
        self, farm: Bench
    ) -> None:
        farm.limits[MODEL] = Limit(concurrency=1)
        free = farm.block(MODEL)
        execution = farm.start("answer-question", QUESTION)
        await farm.engine.run_until_idle()
        assert waits(farm) == [("r1", Wait.FULL)]
        farm.engine.stop_execution(execution, "Mine", "enough")
        await farm.engine.run_until_idle()
        await farm.rules.idle()
        await farm.engine.advance(minutes=2)
        farm.sweep()
        assert (waits(farm), farm.view(ROOT).budget.reserved) == ([], 0)
        free()
        assert farm.slots(MODEL) == 0


class TestMoney:
    async def test_a_run_that_asks_waits_for_money_and_goes_on_when_it_has_it(
        self, bench: Bench
    ) -> None:
        bench.model.says = [reply(GOOD)]
        execution = ask_model(bench, "a", ceiling=1_000, on_budget=OnBudget.ASK)
        await bench.engine.advance(hours=50)
        assert (bench.model.asked, waits(bench)) == ([], [("a", Wait.MONEY)])
        assert ("run.out_of_money", {"run": "answer-question:a", "tenant": "default"}) in (
            bench.published
        )
        assert operations(bench).raise_budget("answer-question:a", 1_000_000_000) == 1
        assert (await bench.engine.run_to_end(execution))["status"] == "SUCCEEDED"

    async def test_a_run_out_of_money_ends_and_after_a_raise_its_redrive_goes_on(
        self, farm: Bench
    ) -> None:
        farm.model.says = [reply(ABSTAINED)]
        described = await farm.run("answer-question", {**QUESTION, "budget": "0.000001"})
        assert farm.view(ROOT).error == "BudgetExceeded"
        operations(farm).raise_budget(ROOT, 1_000_000_000)
        operations(farm).redrive(ROOT)
        described = await farm.engine.run_to_end(described["executionArn"])
        await farm.rules.idle()
        assert described["status"] == "SUCCEEDED"
        view = farm.view(ROOT)
        assert (view.status, view.error, view.budget.reserved) == ("SUCCEEDED", None, 0)

    async def test_a_run_that_nears_its_ceiling_is_announced_once(self, bench: Bench) -> None:
        uncounted = [
            ModelReply(stop_reason="tool_use", text="", tool_input=said, usage=None)
            for said in ({}, {}, GOOD)
        ]
        bench.model.says = [*uncounted, *uncounted]
        await bench.engine.run_to_end(ask_model(bench, "rich"))
        assert (bench.published, bench.view("answer-question:rich").budget.warned) == ([], False)
        spent = bench.view("answer-question:rich").budget.spent
        await bench.engine.run_to_end(ask_model(bench, "poor", ceiling=spent))
        budget = bench.view("answer-question:poor").budget
        assert (budget.spent, budget.available, budget.warned) == (spent, 0, True)
        poor = {"run": "answer-question:poor", "tenant": "default"}
        assert bench.published == [("run.near_ceiling", poor)]


class TestSweep:
    async def test_a_call_let_in_whose_asker_was_never_told_is_told(self, bench: Bench) -> None:
        bench.model.says = [reply(GOOD)]
        bench.deaf = 1
        execution = ask_model(bench, "a")
        await bench.engine.advance(minutes=3)
        assert statuses(bench, [execution]) == ["RUNNING"]
        bench.sweep()
        assert (await bench.engine.run_to_end(execution))["status"] == "SUCCEEDED"

    @pytest.mark.parametrize("redriven", [False, True])
    async def test_what_an_ended_execution_left_is_ended(
        self, bench: Bench, redriven: bool
    ) -> None:
        bench.deaf = 99
        execution = ask_model(bench, "a")
        await bench.engine.run_until_idle()
        bench.engine.stop_execution(execution, "Gone", "")
        await bench.engine.run_until_idle()
        if redriven:
            bench.engine.redrive_execution(execution)
            await bench.engine.run_until_idle()
        await bench.engine.advance(minutes=2)
        bench.deaf = 0
        bench.model.says = [reply(GOOD)]
        bench.sweep()
        await bench.engine.run_until_idle()
        budget = bench.view("answer-question:a").budget
        assert budget.reserved == 0
        assert statuses(bench, [execution]) == (["SUCCEEDED"] if redriven else ["ABORTED"])
