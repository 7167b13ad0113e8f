"""Distributed Map: how many at once, how many may fail, and changes while it runs."""

import json
from typing import Any

import pytest

from local.stepfunctions.api.app import respond
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.testing import Execution, StepFunctions
from unit.local.stepfunctions.asl import distributed, machine, program, task


async def call(sfn: StepFunctions, operation: str, **params: object) -> dict[str, Any]:
    status, answer = await respond(sfn.engine, operation, json.dumps(params).encode())
    assert status == 200, answer
    return answer


async def described(sfn: StepFunctions, execution: Execution) -> dict[str, Any]:
    """What DescribeMapRun tells of an execution's only map run."""
    runs = (await call(sfn, "ListMapRuns", executionArn=execution.arn))["mapRuns"]
    return await call(sfn, "DescribeMapRun", mapRunArn=runs[0]["mapRunArn"])


class Crew:
    """A function that takes a second and counts how many calls run at once."""

    def __init__(self, sfn: StepFunctions) -> None:
        self.sfn = sfn
        self.busy = 0
        self.most = 0
        self.done: list[int] = []
        sfn.function("work", self.work)

    async def work(self, item: int) -> int:
        self.busy += 1
        self.most = max(self.most, self.busy)
        await self.sfn.sleep(1)
        self.busy -= 1
        self.done.append(item)
        return item


def working(**fields: JsonValue) -> dict[str, Any]:
    """A map whose children call the function `work`."""
    return distributed(ItemProcessor=program(Work=task()), **fields)


def fragile(sfn: StepFunctions, bad: list[int]) -> None:
    def work(item: int) -> int:
        if item in bad:
            raise ConnectionError("down")
        return item

    sfn.function("work", work)


async def test_no_more_children_run_at_once_than_may(sfn: StepFunctions) -> None:
    crew = Crew(sfn)
    state = working(Items="{% [1..10] %}", MaxConcurrency="{% 1 + 2 %}")
    execution = await sfn.start(machine(All=state))
    told = await described(sfn, execution)
    assert (told["maxConcurrency"], told["executionCounts"]["running"]) == (3, 3)
    assert told["executionCounts"]["pending"] == 7
    await sfn.finish(execution)
    assert (execution.output, crew.most) == (list(range(1, 11)), 3)


async def test_without_a_limit_all_children_run_at_once(sfn: StepFunctions) -> None:
    crew = Crew(sfn)
    await sfn.finish(await sfn.start(machine(All=working(Items="{% [1..50] %}"))))
    assert crew.most == 50


async def test_a_map_run_works_on_more_items_at_once_as_soon_as_it_may(sfn: StepFunctions) -> None:
    crew = Crew(sfn)
    state = working(Items="{% [1..10] %}", MaxConcurrency=1)
    execution = await sfn.start(machine(All=state))
    arn = (await described(sfn, execution))["mapRunArn"]
    await call(sfn, "UpdateMapRun", mapRunArn=arn, maxConcurrency=4)
    assert (await described(sfn, execution))["maxConcurrency"] == 4
    await sfn.settle()
    assert crew.busy == 4
    await call(sfn, "UpdateMapRun", mapRunArn=arn, maxConcurrency=2)
    await sfn.advance(seconds=1)
    assert (crew.busy, len(crew.done)) == (2, 4)
    await sfn.finish(execution)
    assert (execution.output, crew.most) == (list(range(1, 11)), 4)


async def test_a_map_run_tolerates_what_it_is_told_while_it_runs(sfn: StepFunctions) -> None:
    fragile(sfn, [1, 2])
    wait = {"Type": "Wait", "Seconds": "{% $states.input * 10 %}"}
    slow = program(Wait=wait, Work=task())
    state = distributed(ItemProcessor=slow, Items=[1, 2, 3], ToleratedFailureCount=1)
    execution = await sfn.start(machine(All=state))
    await sfn.advance(seconds=15)
    arn = (await described(sfn, execution))["mapRunArn"]
    await call(sfn, "UpdateMapRun", mapRunArn=arn, toleratedFailureCount=2)
    await sfn.finish(execution)
    assert execution.output == [3]


async def test_a_map_run_that_may_fail_less_fails_at_once(sfn: StepFunctions) -> None:
    fragile(sfn, [1])
    wait = {"Type": "Wait", "Seconds": "{% $states.input * 10 %}"}
    slow = program(Wait=wait, Work=task())
    state = distributed(ItemProcessor=slow, Items=[1, 9], ToleratedFailureCount=1)
    execution = await sfn.start(machine(All=state))
    await sfn.advance(seconds=15)
    arn = (await described(sfn, execution))["mapRunArn"]
    await call(sfn, "UpdateMapRun", mapRunArn=arn, toleratedFailureCount=0)
    await sfn.settle()
    assert execution.error == "States.ExceedToleratedFailureThreshold"


@pytest.mark.parametrize(
    ("tolerated", "bad", "status"),
    [
        ({}, [1], "FAILED"),
        ({"ToleratedFailureCount": 2}, [1, 2], "SUCCEEDED"),
        ({"ToleratedFailureCount": "{% $states.input.most %}"}, [1, 2, 3], "FAILED"),
        ({"ToleratedFailurePercentage": 50}, [1, 2], "SUCCEEDED"),
        ({"ToleratedFailurePercentage": "{% 49.9 %}"}, [1, 2], "FAILED"),
        ({"ToleratedFailureCount": 3, "ToleratedFailurePercentage": 25}, [1, 2], "FAILED"),
        ({"ToleratedFailureCount": 1, "ToleratedFailurePercentage": 75}, [1, 2], "FAILED"),
    ],
)
async def test_a_map_run_fails_when_either_tolerance_is_passed(
    sfn: StepFunctions, tolerated: dict[str, JsonValue], bad: list[int], status: str
) -> None:
    fragile(sfn, bad)
    state = working(Items=[1, 2, 3, 4], MaxConcurrency=1, **tolerated)
    execution = await sfn.start(machine(All=state), {"most": 2})
    assert execution.status == status


async def test_once_too_many_failed_no_further_child_is_started(sfn: StepFunctions) -> None:
    fragile(sfn, [1])
    state = working(Items=[1, 2, 3], MaxConcurrency=1)
    execution = await sfn.start(machine(All=state))
    assert [item for _, item in sfn.functions.calls] == [1]
    counts = (await described(sfn, execution))["executionCounts"]
    assert (counts["failed"], counts["pending"], counts["total"]) == (1, 2, 3)


async def test_batches_hold_no_more_bytes_than_they_may(sfn: StepFunctions) -> None:
    batcher = {"MaxInputBytesPerBatch": "{% 30 %}"}
    state = distributed(Items=["a" * 8] * 4, ItemBatcher=batcher)
    execution = await sfn.start(machine(All=state))
    assert [len(batch["Items"]) for batch in execution.output] == [1, 1, 1, 1]
    wide = distributed(Items=["a" * 8] * 4, ItemBatcher={"MaxInputBytesPerBatch": 40})
    execution = await sfn.start(machine(All=wide))
    assert [len(batch["Items"]) for batch in execution.output] == [2, 2]
    sizes = [len(json.dumps(batch, separators=(",", ":"))) for batch in execution.output]
    assert max(sizes) <= 40


async def test_a_selector_makes_the_items_before_they_are_batched(sfn: StepFunctions) -> None:
    selector = {"n": "{% $states.context.Map.Item.Value %}", "of": "{% $states.input.who %}"}
    state = distributed(
        Items="{% $states.input.items %}",
        ItemSelector=selector,
        ItemBatcher={"MaxItemsPerBatch": 2},
    )
    execution = await sfn.start(machine(All=state), {"items": [7, 8], "who": "ann"})
    assert execution.output == [{"Items": [{"n": 7, "of": "ann"}, {"n": 8, "of": "ann"}]}]


async def test_an_item_no_child_can_take_fails_the_map_and_hangs_nothing(
    sfn: StepFunctions,
) -> None:
    large = {"Type": "Pass", "Assign": {"large": "{% $pad('', 180000, 'x') %}"}}
    selector = ["{% $large %}", "{% $large %}"]
    state = distributed(Items=[1], ItemSelector=selector)
    execution = await sfn.start(machine(Large=large, All=state))
    assert execution.error == "States.DataLimitExceeded"


@pytest.mark.parametrize("kind", ["STANDARD", "EXPRESS"])
async def test_a_redrive_repeats_no_child_that_succeeded(sfn: StepFunctions, kind: str) -> None:
    bad = [2]
    fragile(sfn, bad)
    state = working(Items=[1, 2, 3], MaxConcurrency=1, ExecutionType=kind)
    execution = await sfn.start(machine(All=state))
    assert execution.status == "FAILED"
    bad.clear()
    sfn.engine.redrive_execution(execution.arn)
    await sfn.settle()
    assert execution.output == [1, 2, 3]
    assert [item for _, item in sfn.functions.calls] == [1, 2, 2, 3]
    told = await described(sfn, execution)
    assert (told["redriveCount"], told["executionCounts"]["succeeded"]) == (1, 3)


@pytest.mark.parametrize("kind", ["STANDARD", "EXPRESS"])
async def test_a_killed_engine_repeats_no_child_that_succeeded(
    durable_sfn: StepFunctions, kind: str
) -> None:
    sfn = durable_sfn
    crew = Crew(sfn)
    state = working(Items=[1, 2, 3], MaxConcurrency=1, ExecutionType=kind)
    execution = await sfn.start(machine(All=state))
    await sfn.advance(seconds=1.5)
    started = (await described(sfn, execution))["startDate"]
    await sfn.crash()
    await sfn.finish(execution)
    assert execution.output == [1, 2, 3]
    # The second child was in flight when the engine was killed.
    assert [item for _, item in sfn.functions.calls] == [1, 2, 2, 3]
    assert crew.done[0] == 1
    told = await described(sfn, execution)
    assert (told["startDate"], told["status"]) == (started, "SUCCEEDED")
    assert told["redriveCount"] == 0


async def test_a_killed_redrive_repeats_no_child_that_failed_again(
    durable_sfn: StepFunctions,
) -> None:
    sfn = durable_sfn
    fragile(sfn, [1, 2])
    steps = program(Work=task(), Wait={"Type": "Wait", "Seconds": 60})
    state = distributed(
        ItemProcessor=steps, Items=[1, 2, 3], MaxConcurrency=1, ToleratedFailureCount=1
    )
    execution = await sfn.start(machine(All=state))
    assert [item for _, item in sfn.functions.calls] == [1, 2]
    sfn.functions.calls.clear()
    fragile(sfn, [1])
    await sfn.advance(seconds=1)
    sfn.engine.redrive_execution(execution.arn)
    await sfn.advance(seconds=1)
    await sfn.crash()
    await sfn.finish(execution)
    assert execution.output == [2, 3]
    assert [item for _, item in sfn.functions.calls] == [1, 2, 3]
    told = await described(sfn, execution)
    assert (told["redriveCount"], told["executionCounts"]["failed"]) == (1, 1)


async def test_a_timeout_of_the_machine_stops_the_children(sfn: StepFunctions) -> None:
    state = distributed(Items=[1], ItemProcessor=program(W={"Type": "Wait", "Seconds": 99}))
    execution = await sfn.start(machine(All=state) | {"TimeoutSeconds": 10})
    await sfn.advance(seconds=10)
    await sfn.settle()
    assert execution.status == "TIMED_OUT"
    told = await described(sfn, execution)
    assert (told["status"], told["executionCounts"]["aborted"]) == ("ABORTED", 1)


async def test_of_a_map_run_that_ended_the_counts_stay_and_nothing_of_each_item(
    durable_sfn: StepFunctions,
) -> None:
    sfn = durable_sfn
    fragile(sfn, [3])
    batches = {"ItemBatcher": {"MaxItemsPerBatch": 2}, "ToleratedFailureCount": 1}
    steps = program(Work=task(Arguments={"FunctionName": "work", "Payload": 3}))
    execution = await sfn.start(
        machine(All=distributed(Items="{% [1..5] %}", ItemProcessor=steps, **batches))
    )
    before = await described(sfn, execution)
    assert before["itemCounts"]["total"] == 5
    assert before["executionCounts"]["total"] == 3
    run = next(iter(sfn.engine.map_runs))
    assert (run.item_counts, run.outcomes) == ([], {})
    await sfn.crash()
    assert await described(sfn, execution) == before


async def test_a_map_run_stopped_and_redriven_at_once_goes_on(sfn: StepFunctions) -> None:
    crew = Crew(sfn)
    execution = await sfn.start(machine(All=working(Items="{% [1..4] %}", MaxConcurrency=2)))
    sfn.engine.stop_execution(execution.arn)
    sfn.engine.redrive_execution(execution.arn)
    await sfn.settle()
    told = await described(sfn, execution)
    assert (told["status"], told["redriveCount"]) == ("RUNNING", 1)
    assert told["itemCounts"]["total"] == 4
    await sfn.finish(execution)
    told = await described(sfn, execution)
    assert (told["status"], told["itemCounts"]["succeeded"]) == ("SUCCEEDED", 4)
    assert set(crew.done) == {1, 2, 3, 4}


async def test_what_was_changed_on_a_map_run_outlives_a_kill(durable_sfn: StepFunctions) -> None:
    sfn = durable_sfn
    crew = Crew(sfn)
    execution = await sfn.start(machine(All=working(Items="{% [1..6] %}", MaxConcurrency=1)))
    arn = (await described(sfn, execution))["mapRunArn"]
    await call(sfn, "UpdateMapRun", mapRunArn=arn, maxConcurrency=3, toleratedFailureCount=2)
    crew.busy = crew.most = 0
    await sfn.crash()
    told = await described(sfn, execution)
    assert (told["maxConcurrency"], told["toleratedFailureCount"]) == (3, 2)
    await sfn.finish(execution)
    assert (execution.output, crew.most) == ([1, 2, 3, 4, 5, 6], 3)


async def test_results_too_large_together_fail_the_map(sfn: StepFunctions) -> None:
    each = program(Each={"Type": "Pass", "Output": "{% $pad('', 120000, 'x') %}"})
    fits = await sfn.start(machine(All=distributed(Items=[1, 2], ItemProcessor=each)))
    assert fits.status == "SUCCEEDED", fits.cause
    large = await sfn.start(machine(All=distributed(Items=[1, 2, 3], ItemProcessor=each)))
    assert large.error == "States.DataLimitExceeded"


async def test_a_map_that_is_retried_makes_another_map_run(sfn: StepFunctions) -> None:
    fragile(sfn, [2])
    retry = [{"ErrorEquals": ["States.ExceedToleratedFailureThreshold"], "MaxAttempts": 1}]
    execution = await sfn.start(machine(All=working(Items=[1, 2], Retry=retry)))
    await sfn.finish(execution)
    runs = (await call(sfn, "ListMapRuns", executionArn=execution.arn))["mapRuns"]
    assert (execution.status, len(runs)) == ("FAILED", 2)
    assert execution.types.count("MapRunFailed") == 2
    status, answer = await respond(sfn.engine, "DescribeMapRun", b'{"mapRunArn": "arn:aws:x"}')
    assert (status, answer["__type"]) == (400, "InvalidArn")
