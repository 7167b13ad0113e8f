"""The engine answers boto3 on loopback as AWS does."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import boto3
import pytest
import uvicorn
from botocore.config import Config
from botocore.exceptions import ClientError

from local.stepfunctions.api.app import stepfunctions_app
from local.stepfunctions.clock import RealClock
from local.stepfunctions.engine import Engine
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.testing import Functions

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

ROLE = "arn:aws:iam::123456789012:role/local"
ASL = {
    "QueryLanguage": "JSONata",
    "StartAt": "Hold",
    "States": {
        "Hold": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
            "Arguments": {
                "FunctionName": "hold",
                "Payload": {"token": "{% $states.context.Task.Token %}"},
            },
            "End": True,
        }
    },
}


class Server:
    """An engine behind HTTP, and calls from a thread so that the loop stays free."""

    def __init__(self, client: "SFNClient", tokens: "asyncio.Queue[str]") -> None:
        self.client = client
        self.tokens = tokens

    async def call(self, operation: Callable[..., Any], **parameters: object) -> Any:
        return await asyncio.to_thread(operation, **parameters)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    tokens: asyncio.Queue[str] = asyncio.Queue()
    functions = Functions()
    functions.add("hold", lambda event: tokens.put_nowait(event["token"]))
    engine = Engine(Integrations(functions), clock=RealClock())
    config = uvicorn.Config(stepfunctions_app(engine), host="127.0.0.1", port=0, log_level="error")
    http = uvicorn.Server(config)
    serving = asyncio.create_task(http.serve())
    while not http.started:
        await asyncio.sleep(0.005)
    port = http.servers[0].sockets[0].getsockname()[1]
    client = boto3.client(
        "stepfunctions",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}, inject_host_prefix=False),
    )
    yield Server(client, tokens)
    client.close()
    http.should_exit = True
    await serving
    await engine.close()


async def test_a_machine_is_created_started_answered_and_described(server: Server) -> None:
    sfn = server.client
    text = json.dumps(ASL)
    created = await server.call(
        sfn.create_state_machine, name="ask-model", definition=text, roleArn=ROLE, publish=True
    )
    version = created["stateMachineVersionArn"]
    assert version.endswith(":stateMachine:ask-model:1")
    started = await server.call(
        sfn.start_execution, stateMachineArn=version, input='{"q": 1}', name="one"
    )
    token = await server.tokens.get()
    await server.call(sfn.send_task_heartbeat, taskToken=token)
    await server.call(sfn.send_task_success, taskToken=token, output='{"ok": true}')
    arn = started["executionArn"]
    described = await server.call(sfn.describe_execution, executionArn=arn)
    assert described["status"] == "SUCCEEDED"
    assert json.loads(described["output"]) == {"ok": True}
    assert described["stateMachineVersionArn"] == version
    listed = await server.call(
        sfn.list_executions, stateMachineArn=created["stateMachineArn"], statusFilter="SUCCEEDED"
    )
    assert [entry["name"] for entry in listed["executions"]] == ["one"]


async def test_a_history_is_read_page_by_page_in_both_directions(server: Server) -> None:
    sfn = server.client
    passing = {"Type": "Pass", "End": True}
    text = json.dumps({"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": passing}})
    created = await server.call(
        sfn.create_state_machine, name="short", definition=text, roleArn=ROLE
    )
    arn = (await server.call(sfn.start_execution, stateMachineArn=created["stateMachineArn"]))[
        "executionArn"
    ]
    events = await server.call(
        lambda: [
            event
            for page in sfn.get_paginator("get_execution_history").paginate(
                executionArn=arn, PaginationConfig={"PageSize": 2}
            )
            for event in page["events"]
        ]
    )
    assert [event["type"] for event in events] == [
        "ExecutionStarted",
        "PassStateEntered",
        "PassStateExited",
        "ExecutionSucceeded",
    ]
    back = await server.call(
        sfn.get_execution_history, executionArn=arn, reverseOrder=True, includeExecutionData=False
    )
    assert [event["id"] for event in back["events"]] == [4, 3, 2, 1]
    assert "output" not in back["events"][0]["executionSucceededEventDetails"]


async def test_refusals_bear_awss_codes(server: Server) -> None:
    sfn = server.client
    arn = "arn:aws:states:us-east-1:123456789012:stateMachine:none"
    with pytest.raises(sfn.exceptions.StateMachineDoesNotExist):
        await server.call(sfn.start_execution, stateMachineArn=arn)
    with pytest.raises(sfn.exceptions.InvalidToken):
        await server.call(sfn.send_task_success, taskToken="AAAA", output="1")
    with pytest.raises(ClientError) as refused:
        await server.call(sfn.create_state_machine, name="x", definition="{}", roleArn=ROLE)
    assert refused.value.response["Error"]["Code"] == "InvalidDefinition"
    checked = await server.call(sfn.validate_state_machine_definition, definition="{}")
    assert checked["result"] == "FAIL"
