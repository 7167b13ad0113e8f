"""Executions that start executions, and how they end together."""

import json
from typing import Any

import pytest

from local.stepfunctions.testing import Execution, StepFunctions
from unit.local.stepfunctions.asl import machine, nested, program, waiting_task


@pytest.fixture
def child(sfn: StepFunctions) -> str:
    """A machine that waits for a token."""
    sfn.function("hold", lambda event: event)
    return sfn.create(machine(Hold=waiting_task()), "child")


def statuses(sfn: StepFunctions, child: str) -> list[str]:
    summaries = sfn.engine.summaries(sfn.engine.machines.get(child))
    return [summary["status"] for summary in summaries]


async def ended(sfn: StepFunctions, definition: dict[str, Any]) -> Execution:
    execution = await sfn.start(definition)
    await sfn.advance(seconds=30)
    return execution


async def test_without_sync_the_parent_goes_on_at_once(sfn: StepFunctions, child: str) -> None:
    execution = await sfn.start(machine(Ask=nested(child, "")))
    assert execution.status == "SUCCEEDED"
    assert execution.output["ExecutionArn"].startswith(child.replace("stateMachine", "execution"))
    sfn.engine.stop_execution(execution.output["ExecutionArn"])
    assert statuses(sfn, child) == ["ABORTED"]


async def test_a_timeout_of_the_task_stops_the_child(sfn: StepFunctions, child: str) -> None:
    execution = await ended(sfn, machine(Ask=nested(child, TimeoutSeconds=20)))
    assert (execution.error, statuses(sfn, child)) == ("States.Timeout", ["ABORTED"])


async def test_a_timeout_of_the_machine_stops_the_child(sfn: StepFunctions, child: str) -> None:
    execution = await ended(sfn, machine(Ask=nested(child)) | {"TimeoutSeconds": 20})
    assert (execution.status, statuses(sfn, child)) == ("TIMED_OUT", ["ABORTED"])


async def test_a_branch_that_fails_stops_the_child_of_its_sibling(
    sfn: StepFunctions, child: str
) -> None:
    fail = program(Soon={"Type": "Wait", "Seconds": 5}, Stop={"Type": "Fail", "Error": "X"})
    both = {"Type": "Parallel", "Branches": [program(Ask=nested(child)), fail]}
    execution = await ended(sfn, machine(Both=both))
    assert (execution.error, statuses(sfn, child)) == ("X", ["ABORTED"])


async def test_a_child_that_is_stopped_fails_the_parents_task(
    sfn: StepFunctions, child: str
) -> None:
    execution = await sfn.start(machine(Ask=nested(child)))
    arn = sfn.engine.summaries(sfn.engine.machines.get(child))[0]["executionArn"]
    sfn.engine.stop_execution(arn, "Enough", "by hand")
    await sfn.settle()
    assert execution.error == "States.TaskFailed"
    told = json.loads(execution.cause or "")
    assert (told["Status"], told["Error"], told["Cause"]) == ("ABORTED", "Enough", "by hand")


async def test_a_machine_that_does_not_exist_fails_by_awss_name(sfn: StepFunctions) -> None:
    arn = sfn.engine.names.machine("none")
    execution = await sfn.start(machine(Ask=nested(arn)))
    assert execution.error == "StepFunctions.StateMachineDoesNotExistException"


async def test_the_same_name_for_two_children_fails_by_awss_name(
    sfn: StepFunctions, child: str
) -> None:
    named = nested(child, "")
    named["Arguments"]["Name"] = "one"
    other = {**named, "Arguments": {**named["Arguments"], "Input": 7}}
    execution = await sfn.start(machine(First=named, Second=other))
    assert execution.error == "StepFunctions.ExecutionAlreadyExistsException"
