"""The engine: starts, stops, nested executions, versions, watching, repeatability."""

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local.stepfunctions.errors import ApiError
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.registry import Alias
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import machine, nested, program, task, waiting_task

if TYPE_CHECKING:
    from local.stepfunctions.events import Event

PASS = {"Type": "Pass"}


async def test_the_same_name_and_input_is_the_same_open_execution(sfn: StepFunctions) -> None:
    arn = sfn.create(machine(Night={"Type": "Wait", "Seconds": 60}))
    first = sfn.engine.start_execution(arn, "{}", "one")
    assert sfn.engine.start_execution(arn, "{}", "one") == first
    with pytest.raises(ApiError) as refused:
        sfn.engine.start_execution(arn, '{"other":1}', "one")
    assert refused.value.code == "ExecutionAlreadyExists"


async def test_a_name_cannot_be_used_again_after_the_end(sfn: StepFunctions) -> None:
    arn = sfn.create(machine(Only=dict(PASS)))
    await sfn.start(arn, {}, name="one")
    with pytest.raises(ApiError) as refused:
        await sfn.start(arn, {}, name="one")
    assert refused.value.code == "ExecutionAlreadyExists"


async def test_a_version_keeps_its_definition(sfn: StepFunctions) -> None:
    arn = sfn.create(machine(Only={"Type": "Pass", "Output": "old"}), "ask-model")
    version = sfn.engine.publish_version(arn)
    assert version == f"{arn}:1"
    new = machine(Only={"Type": "Pass", "Output": "new"})
    sfn.engine.machines.update(arn, json.dumps(new), None, {})
    assert (await sfn.start(version)).output == "old"
    assert (await sfn.start(arn)).output == "new"
    assert sfn.engine.publish_version(arn) == f"{arn}:2"


async def test_an_alias_draws_its_versions_by_weight(sfn: StepFunctions) -> None:
    def answering(word: str) -> dict[str, Any]:
        return machine(Only={"Type": "Pass", "Output": word})

    arn = sfn.create(answering("old"), "ask-model")
    sfn.engine.publish_version(arn)
    sfn.engine.machines.update(arn, json.dumps(answering("new")), None, {})
    sfn.engine.publish_version(arn)
    routes = [(f"{arn}:1", 90), (f"{arn}:2", 10)]
    now = sfn.clock.now()
    alias = Alias("live", None, routes, now, now)
    sfn.engine.machines.get(arn).aliases["live"] = alias
    runs = [await sfn.start(f"{arn}:live") for _ in range(400)]
    drawn = Counter(run.output for run in runs)
    assert 20 <= drawn["new"] <= 65
    assert drawn["old"] + drawn["new"] == 400
    shape = sfn.engine.describe_execution(runs[0].arn)
    assert shape["stateMachineAliasArn"] == f"{arn}:live"
    assert shape["stateMachineVersionArn"] == f"{arn}:{1 if runs[0].output == 'old' else 2}"
    alias.routes = [(f"{arn}:2", 100)]
    assert {(await sfn.start(f"{arn}:live")).output for _ in range(20)} == {"new"}


async def test_a_running_execution_keeps_the_definition_it_was_started_with(
    sfn: StepFunctions,
) -> None:
    wait = {"Type": "Wait", "Seconds": 60}
    arn = sfn.create(machine(Wait=wait, Only={"Type": "Pass", "Output": "old"}))
    execution = await sfn.start(arn)
    new = machine(Only={"Type": "Pass", "Output": "new"})
    sfn.engine.machines.update(arn, json.dumps(new), None, {})
    await sfn.advance(seconds=60)
    assert execution.output == "old"


async def test_a_parent_gets_the_output_of_its_child_as_json(sfn: StepFunctions) -> None:
    child = sfn.create(machine(Only={"Type": "Pass", "Output": {"answer": 42}}), "child")
    execution = await sfn.start(machine(Ask=nested(child)))
    assert execution.output["Output"] == {"answer": 42}
    assert execution.output["Status"] == "SUCCEEDED"
    text = await sfn.start(machine(Ask=nested(child, ".sync")))
    assert text.output["Output"] == '{"answer":42}'


async def test_a_child_that_fails_reaches_its_parent_with_its_description(
    sfn: StepFunctions,
) -> None:
    child = sfn.create(machine(Stop={"Type": "Fail", "Error": "BudgetExceeded"}), "child")
    catch = {
        "ErrorEquals": ["States.TaskFailed"],
        "Output": "{% $parse($states.errorOutput.Cause).Error %}",
        "Next": "After",
    }
    state = nested(child, Catch=[catch], Next="After")
    execution = await sfn.start(machine(Ask=state, After={"Type": "Succeed"}))
    assert execution.output == "BudgetExceeded"


async def test_stopping_a_parent_stops_its_children(sfn: StepFunctions) -> None:
    sfn.function("hold", lambda event: event)
    grandchild = sfn.create(machine(Hold=waiting_task()), "grandchild")
    child = sfn.create(machine(Ask=nested(grandchild)), "child")
    parent = await sfn.start(machine(Ask=nested(child)))
    sfn.engine.stop_execution(parent.arn, "RunStopped", "by hand")
    await sfn.settle()
    assert (parent.status, parent.error) == ("ABORTED", "RunStopped")
    for name in ("child", "grandchild"):
        arn = sfn.engine.names.machine(name)
        summaries = sfn.engine.summaries(sfn.engine.machines.get(arn))
        assert [summary["status"] for summary in summaries] == ["ABORTED"]


async def test_subscribers_see_each_event_once_and_in_order(sfn: StepFunctions) -> None:
    seen: list[tuple[str, Event]] = []
    sfn.engine.subscribe(lambda arn, event: seen.append((arn, event)))
    sfn.function("work", lambda event: event)
    execution = await sfn.start(machine(Work=task(), Night={"Type": "Wait", "Seconds": 9}))
    await sfn.finish(execution)
    assert [event for _, event in seen] == execution.history


async def test_status_changes_are_told_as_eventbridge_tells_them(sfn: StepFunctions) -> None:
    seen: list[dict[str, Any]] = []
    sfn.engine.on_status_change(seen.append)
    execution = await sfn.start(machine(Stop={"Type": "Fail", "Error": "X"}), 1)
    told = [detail for detail in seen if detail["executionArn"] == execution.arn]
    assert [detail["status"] for detail in told] == ["RUNNING", "FAILED"]
    assert told[-1]["error"] == "X"
    assert told[-1]["input"] == "1"


async def test_a_watcher_that_fails_stops_nothing(sfn: StepFunctions) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a defect of the watcher")

    sfn.engine.subscribe(fail)
    sfn.engine.on_status_change(fail)
    execution = await sfn.start(machine(Only=dict(PASS)), 1)
    assert execution.output == 1


async def test_a_redrive_goes_on_at_the_state_that_failed(sfn: StepFunctions) -> None:
    down = ["down"]

    def work(event: JsonValue) -> JsonValue:
        if down:
            raise ConnectionError("down")
        return event

    sfn.function("first", lambda event: event)
    sfn.function("work", work)
    execution = await sfn.start(machine(First=task("first"), Work=task()), 1)
    assert execution.status == "FAILED"
    down.clear()
    sfn.engine.redrive_execution(execution.arn)
    await sfn.settle()
    assert (execution.status, execution.output) == ("SUCCEEDED", 1)
    assert [name for name, _ in sfn.functions.calls] == ["first", "work", "work"]
    assert "ExecutionRedriven" in execution.types


async def test_a_redrive_keeps_what_the_other_branches_did(sfn: StepFunctions) -> None:
    down = ["down"]

    def work(item: int) -> int:
        if down and item == 1:
            raise ConnectionError("down")
        return item * 10

    sfn.function("work", work)
    state = {"Type": "Map", "MaxConcurrency": 1, "ItemProcessor": program(Work=task())}
    both = {"Type": "Parallel", "Branches": [program(All=state), program(Other=dict(PASS))]}
    execution = await sfn.start(machine(Both=both), [0, 1, 2])
    assert execution.status == "FAILED"
    down.clear()
    sfn.engine.redrive_execution(execution.arn)
    await sfn.settle()
    assert execution.output == [[0, 10, 20], [0, 1, 2]]
    assert [item for _, item in sfn.functions.calls] == [0, 1, 1, 2]


async def test_a_succeeded_execution_cannot_be_redriven(sfn: StepFunctions) -> None:
    execution = await sfn.start(machine(Only=dict(PASS)))
    with pytest.raises(ApiError) as refused:
        sfn.engine.redrive_execution(execution.arn)
    assert refused.value.code == "ExecutionNotRedrivable"


async def test_after_fourteen_days_nothing_is_redriven(sfn: StepFunctions) -> None:
    execution = await sfn.start(machine(Stop={"Type": "Fail"}))
    await sfn.advance(days=15)
    with pytest.raises(ApiError):
        sfn.engine.redrive_execution(execution.arn)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(), items=st.lists(st.integers(-9, 9), max_size=6))
def test_the_same_seed_gives_the_same_history(seed: int, items: list[int]) -> None:
    import asyncio

    def work(item: int) -> int:
        if item < 0:
            raise ValueError("negative")
        return item

    async def run() -> list[tuple[Any, ...]]:
        sfn = StepFunctions(seed)
        sfn.function("work", work)
        retry = [{"ErrorEquals": ["ValueError"], "JitterStrategy": "FULL"}]
        each = task(Retry=retry, Assign={"id": "{% $uuid() %}", "n": "{% $random() %}"})
        state = {
            "Type": "Map",
            "Items": "{% $states.input.items %}",
            "ItemProcessor": program(Work=each),
        }
        execution = await sfn.start(machine(All=state), {"items": items})
        await sfn.finish(execution)
        return [(e.id, e.previous, e.type, e.timestamp, e.details) for e in execution.history]

    assert asyncio.run(run()) == asyncio.run(run())
