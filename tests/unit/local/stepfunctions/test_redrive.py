"""Redrive: what did not succeed goes on where it was."""

import json
from typing import Any

import pytest

from local.stepfunctions.api.app import respond
from local.stepfunctions.errors import ApiError
from local.stepfunctions.testing import Execution, StepFunctions
from unit.local.stepfunctions.asl import machine, nested, program, task, waiting_task

PASS = {"Type": "Pass"}


class Fragile:
    """A function that fails for some items until it is mended."""

    def __init__(self, sfn: StepFunctions, *bad: int) -> None:
        self.sfn = sfn
        self.bad = set(bad)
        sfn.function("work", self.work)

    def work(self, item: int) -> int:
        if item in self.bad:
            raise ConnectionError("down")
        return item * 10

    async def redrive(self, execution: Execution) -> None:
        self.bad.clear()
        self.sfn.engine.redrive_execution(execution.arn)
        await self.sfn.settle()

    @property
    def worked_on(self) -> list[Any]:
        return [item for _, item in self.sfn.functions.calls]


def mapped(**fields: Any) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": program(Work=task()), **fields}


async def test_iterations_that_were_done_are_not_done_again(sfn: StepFunctions) -> None:
    fragile = Fragile(sfn, 2)
    execution = await sfn.start(machine(All=mapped(MaxConcurrency=1)), [0, 1, 2, 3])
    await fragile.redrive(execution)
    assert execution.output == [0, 10, 20, 30]
    assert fragile.worked_on == [0, 1, 2, 2, 3]


async def test_iterations_that_were_stopped_go_on(sfn: StepFunctions) -> None:
    fragile = Fragile(sfn, 1)
    each = program(Wait={"Type": "Wait", "Seconds": "{% $states.input * 10 + 1 %}"}, Work=task())
    execution = await sfn.start(machine(All=mapped(ItemProcessor=each)), [0, 1, 2])
    await sfn.advance(seconds=15)
    assert execution.status == "FAILED"
    await fragile.redrive(execution)
    await sfn.finish(execution)
    assert execution.output == [0, 10, 20]
    assert fragile.worked_on == [0, 1, 1, 2]


async def test_a_branch_inside_a_branch_goes_on_where_it_was(sfn: StepFunctions) -> None:
    fragile = Fragile(sfn, 7)
    inner = {"Type": "Parallel", "Branches": [program(Work=task()), program(Own=dict(PASS))]}
    done = program(First={"Type": "Pass", "Output": "done"})
    both = {"Type": "Parallel", "Branches": [program(Before=dict(PASS), In=inner), done]}
    execution = await sfn.start(machine(Both=both, After=dict(PASS)), 7)
    await fragile.redrive(execution)
    assert execution.output == [[70, 7], "done"]
    assert execution.states.count("Before") == execution.states.count("First") == 1


async def test_retries_are_counted_anew(sfn: StepFunctions) -> None:
    fragile = Fragile(sfn, 5)
    state = task(Retry=[{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}])
    execution = await sfn.finish(await sfn.start(machine(Work=state), 5))
    assert len(fragile.worked_on) == 3
    sfn.engine.redrive_execution(execution.arn)
    await sfn.finish(execution)
    assert (execution.status, len(fragile.worked_on)) == ("FAILED", 6)


async def test_variables_are_still_there(sfn: StepFunctions) -> None:
    fragile = Fragile(sfn, 1)
    keep = {"Type": "Pass", "Assign": {"kept": "k"}}
    state = task(Output="{% $kept & $states.result.Payload %}")
    execution = await sfn.start(machine(Keep=keep, Work=state), 1)
    await fragile.redrive(execution)
    assert execution.output == "k10"


@pytest.mark.parametrize("how", ["stopped", "timed out"])
async def test_what_was_stopped_or_timed_out_goes_on(sfn: StepFunctions, how: str) -> None:
    tokens: list[str] = []
    sfn.function("hold", lambda event: tokens.append(event["token"]))
    execution = await sfn.start(machine(Hold=waiting_task()) | {"TimeoutSeconds": 60})
    if how == "stopped":
        sfn.engine.stop_execution(execution.arn)
    await sfn.advance(seconds=61)
    assert execution.status == ("ABORTED" if how == "stopped" else "TIMED_OUT")
    sfn.engine.redrive_execution(execution.arn)
    await sfn.advance(seconds=59)
    assert execution.status == "RUNNING"
    sfn.succeed(tokens[-1], "yes")
    assert (execution.output, len(tokens)) == ("yes", 2)


async def test_a_fail_state_is_entered_again_and_fails_again(sfn: StepFunctions) -> None:
    execution = await sfn.start(machine(Stop={"Type": "Fail", "Error": "X"}))
    sfn.engine.redrive_execution(execution.arn)
    await sfn.settle()
    assert (execution.status, execution.error) == ("FAILED", "X")
    described = sfn.engine.describe_execution(execution.arn)
    assert (described["redriveCount"], described["redriveStatus"]) == (1, "REDRIVABLE")


async def test_a_nested_execution_is_started_anew(sfn: StepFunctions) -> None:
    fragile = Fragile(sfn, 1)
    child = sfn.create(machine(Work=task()), "child")
    execution = await sfn.start(machine(Ask=nested(child)), 1)
    assert execution.error == "States.TaskFailed"
    await fragile.redrive(execution)
    assert execution.output["Output"] == 10


async def test_the_window_is_fourteen_days_from_the_end(sfn: StepFunctions) -> None:
    wait = {"Type": "Wait", "Seconds": 20 * 86_400}
    execution = await sfn.start(machine(Wait=wait, Stop={"Type": "Fail"}))
    await sfn.advance(days=20)
    await sfn.advance(days=14)
    assert sfn.engine.describe_execution(execution.arn)["redriveStatus"] == "REDRIVABLE"
    await sfn.advance(seconds=1)
    described = sfn.engine.describe_execution(execution.arn)
    assert described["redriveStatusReason"] == (
        "Execution is past its redrivable period of 14 days"
    )
    with pytest.raises(ApiError) as refused:
        sfn.engine.redrive_execution(execution.arn)
    assert refused.value.code == "ExecutionNotRedrivable"


async def test_what_runs_or_is_express_cannot_be_redriven(sfn: StepFunctions) -> None:
    running = await sfn.start(machine(Night={"Type": "Wait", "Seconds": 9}))
    with pytest.raises(ApiError) as refused:
        sfn.engine.redrive_execution(running.arn)
    assert refused.value.code == "ExecutionNotRedrivable"
    text = json.dumps(machine(Stop={"Type": "Fail"}))
    quick = sfn.engine.create_state_machine(name="quick", definition=text, type="EXPRESS")
    arn = sfn.engine.start_execution(quick)
    await sfn.settle()
    body = json.dumps({"executionArn": arn}).encode()
    _, answer = await respond(sfn.engine, "RedriveExecution", body)
    assert answer["__type"] == "InvalidArn"
