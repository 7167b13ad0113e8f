"""Express executions: short, in memory, answered at once."""

import asyncio
import json
from typing import Any

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


async def test_a_standard_machine_is_not_started_synchronously(sfn: StepFunctions) -> None:
    arn = sfn.create(machine(Only={"Type": "Succeed"}))
    answer = await call(sfn, "StartSyncExecution", stateMachineArn=arn)
    assert answer["__type"] == "StateMachineTypeNotSupported"
