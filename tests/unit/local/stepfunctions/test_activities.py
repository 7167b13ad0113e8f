"""Activities: workers ask for their tasks."""

import asyncio
import json
from typing import Any

import pytest

from local.stepfunctions.api.app import respond
from local.stepfunctions.testing import Execution, StepFunctions
from unit.local.stepfunctions.asl import machine


async def call(sfn: StepFunctions, operation: str, **params: object) -> dict[str, Any]:
    _, answer = await respond(sfn.engine, operation, json.dumps(params).encode())
    return answer


@pytest.fixture
async def arn(sfn: StepFunctions) -> str:
    made: str = (await call(sfn, "CreateActivity", name="approve"))["activityArn"]
    return made


async def waiting(sfn: StepFunctions, arn: str, **fields: object) -> Execution:
    return await sfn.start(machine(Ask={"Type": "Task", "Resource": arn, **fields}), {"n": 1})


async def taken(sfn: StepFunctions, arn: str, worker: str = "w1") -> dict[str, Any]:
    return await call(sfn, "GetActivityTask", activityArn=arn, workerName=worker)


async def test_a_worker_takes_the_task_and_answers_it(sfn: StepFunctions, arn: str) -> None:
    execution = await waiting(sfn, arn)
    assert execution.types[-1] == "ActivityScheduled"
    task = await taken(sfn, arn)
    assert json.loads(task["input"]) == {"n": 1}
    started = execution.history[-1]
    assert (started.type, started.details["workerName"]) == ("ActivityStarted", "w1")
    await call(sfn, "SendTaskSuccess", taskToken=task["taskToken"], output='"yes"')
    assert execution.output == "yes"


async def test_each_task_goes_to_one_worker_in_order(sfn: StepFunctions, arn: str) -> None:
    first, second = await waiting(sfn, arn), await waiting(sfn, arn)
    tasks = [await taken(sfn, arn, "w1"), await taken(sfn, arn, "w2")]
    for task, word in zip(tasks, ('"a"', '"b"'), strict=True):
        await call(sfn, "SendTaskSuccess", taskToken=task["taskToken"], output=word)
    assert (first.output, second.output) == ("a", "b")


async def test_a_worker_waits_a_minute_and_goes_away_empty(sfn: StepFunctions, arn: str) -> None:
    asking = asyncio.create_task(taken(sfn, arn))
    await asyncio.sleep(0)
    await sfn.advance(seconds=61)
    assert await asking == {}


async def test_a_worker_that_waits_gets_the_next_task(sfn: StepFunctions, arn: str) -> None:
    asking = asyncio.create_task(taken(sfn, arn))
    await asyncio.sleep(0)
    execution = await waiting(sfn, arn)
    await sfn.advance(seconds=2)
    task = await asking
    await call(sfn, "SendTaskFailure", taskToken=task["taskToken"], error="Refused", cause="no")
    assert (execution.error, execution.cause) == ("Refused", "no")


async def test_a_worker_that_falls_silent_loses_its_task(sfn: StepFunctions, arn: str) -> None:
    execution = await waiting(sfn, arn, HeartbeatSeconds=10, TimeoutSeconds=100)
    token = (await taken(sfn, arn))["taskToken"]
    await sfn.advance(seconds=9)
    assert await call(sfn, "SendTaskHeartbeat", taskToken=token) == {}
    await sfn.advance(seconds=11)
    assert (execution.error, execution.types[-2]) == (
        "States.HeartbeatTimeout",
        "ActivityTimedOut",
    )
    late = await call(sfn, "SendTaskSuccess", taskToken=token, output="1")
    assert late["__type"] == "TaskTimedOut"


async def test_a_task_nobody_takes_runs_into_its_timeout(sfn: StepFunctions, arn: str) -> None:
    execution = await waiting(sfn, arn, TimeoutSeconds=100)
    await sfn.advance(seconds=100)
    assert execution.error == "States.Timeout"


async def test_an_activity_that_does_not_exist_fails_the_state(
    sfn: StepFunctions, arn: str
) -> None:
    await call(sfn, "DeleteActivity", activityArn=arn)
    execution = await waiting(sfn, arn)
    assert (execution.error, "does not exist" in (execution.cause or "")) == (
        "States.Runtime",
        True,
    )
    gone = await call(sfn, "GetActivityTask", activityArn=arn)
    assert gone["__type"] == "ActivityDoesNotExist"
