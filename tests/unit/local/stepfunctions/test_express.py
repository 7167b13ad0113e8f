"""Express executions: short, in memory, answered at once."""

import asyncio
import json
from typing import Any

import pytest

from local.stepfunctions.api.app import respond
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import machine, task


async def call(sfn: StepFunctions, operation: str, **params: object) -> dict[str, Any]:
    _, answer = await respond(sfn.engine, operation, json.dumps(params).encode())
    return answer


def express(sfn: StepFunctions, definition: dict[str, Any]) -> str:
    text = json.dumps(definition)
    return sfn.engine.create_state_machine(name="quick", definition=text, type="EXPRESS")


async def test_a_synchronous_start_answers_with_the_result(sfn: StepFunctions) -> None:
    sfn.function("work", lambda event: {"got": event})
    arn = express(sfn, machine(Work=task()))
    answer = await call(sfn, "StartSyncExecution", stateMachineArn=arn, input="1", name="one")
    assert (answer["status"], answer["output"]) == ("SUCCEEDED", '{"got":1}')
    assert ":express:quick:one:" in answer["executionArn"]
    assert answer["billingDetails"]["billedDurationInMilliseconds"] == 100


async def test_it_ends_after_five_minutes(sfn: StepFunctions) -> None:
    arn = express(sfn, machine(Long={"Type": "Wait", "Seconds": 1000}))
    answering = asyncio.create_task(call(sfn, "StartSyncExecution", stateMachineArn=arn))
    await asyncio.sleep(0)
    await sfn.advance(seconds=301)
    answer = await answering
    assert answer["status"] == "TIMED_OUT"
    assert answer["stopDate"] - answer["startDate"] == 300


async def test_it_cannot_be_described_or_listed(sfn: StepFunctions) -> None:
    arn = express(sfn, machine(Only={"Type": "Succeed"}))
    started = await call(sfn, "StartExecution", stateMachineArn=arn)
    described = await call(sfn, "DescribeExecution", executionArn=started["executionArn"])
    assert described["__type"] == "InvalidArn"
    listed = await call(sfn, "ListExecutions", stateMachineArn=arn)
    assert listed["__type"] == "StateMachineTypeNotSupported"


@pytest.mark.parametrize(
    "operation", ["DescribeExecution", "GetExecutionHistory", "StopExecution", "RedriveExecution"]
)
async def test_an_execution_is_out_of_reach_once_started(
    sfn: StepFunctions, operation: str
) -> None:
    arn = express(sfn, machine(Long={"Type": "Wait", "Seconds": 100}))
    started = await call(sfn, "StartExecution", stateMachineArn=arn)
    answer = await call(sfn, operation, executionArn=started["executionArn"])
    assert answer["__type"] == "InvalidArn"


async def test_the_same_name_starts_another_execution(sfn: StepFunctions) -> None:
    sfn.function("work", lambda event: event)
    arn = express(sfn, machine(Work=task()))
    params = {"stateMachineArn": arn, "name": "one", "input": "1"}
    first = await call(sfn, "StartExecution", **params)
    second = await call(sfn, "StartExecution", **params)
    await sfn.settle()
    assert first["executionArn"] != second["executionArn"]
    assert len(sfn.functions.calls) == 2


async def test_a_failure_is_answered_with_its_error_and_cause(sfn: StepFunctions) -> None:
    arn = express(sfn, machine(Stop={"Type": "Fail", "Error": "X", "Cause": "why"}))
    answer = await call(sfn, "StartSyncExecution", stateMachineArn=arn)
    assert (answer["status"], answer["error"], answer["cause"]) == ("FAILED", "X", "why")


async def test_a_shorter_timeout_of_the_machine_counts(sfn: StepFunctions) -> None:
    arn = express(sfn, machine(Long={"Type": "Wait", "Seconds": 100}) | {"TimeoutSeconds": 10})
    answering = asyncio.create_task(call(sfn, "StartSyncExecution", stateMachineArn=arn))
    await asyncio.sleep(0)
    await sfn.advance(seconds=10)
    answer = await answering
    assert (answer["status"], answer["stopDate"] - answer["startDate"]) == ("TIMED_OUT", 10)


async def test_nothing_of_it_stays_in_memory(sfn: StepFunctions) -> None:
    arn = express(sfn, machine(Only={"Type": "Succeed"}))
    started = await call(sfn, "StartExecution", stateMachineArn=arn)
    await sfn.settle()
    assert sfn.engine.find(started["executionArn"]) is None


async def test_a_standard_machine_is_not_started_synchronously(sfn: StepFunctions) -> None:
    arn = sfn.create(machine(Only={"Type": "Succeed"}))
    answer = await call(sfn, "StartSyncExecution", stateMachineArn=arn)
    assert answer["__type"] == "StateMachineTypeNotSupported"
