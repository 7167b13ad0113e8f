"""What a case needs around its state machine: functions, mocks, activities, other machines."""

import asyncio
import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import boto3
from botocore.config import Config

from local.constants import REGION
from local.invoke import InvokeResult
from local.stepfunctions.clock import VirtualClock
from local.stepfunctions.conformance.cases import Case
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import StatesError
from local.stepfunctions.integrations.functions import invoke_action, invoke_function
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.jsontext import Json, JsonValue, dumps
from local.stepfunctions.tasks import TaskRequest

ACCOUNT: Final = "111111111111"
ROLE: Final = f"arn:aws:iam::{ACCOUNT}:role/conformance"
_ARN_PARTS: Final = 7


class World:
    """An engine in virtual time with all a case names.

    Args:
        case: a recorded case.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.clock = VirtualClock()
        tasks = _Mocked(case, Integrations(_Functions(case, self.clock), make_client))
        self.engine = Engine(tasks, clock=self.clock, seed=0, account=ACCOUNT)
        self._workers: list[asyncio.Task[None]] = []

    def set_up(self) -> None:
        """Make the resources, the other machines and the workers."""
        for resource in self.case.get("resources", ()):
            self._make(resource)
        for other in self.case.get("other_state_machines", ()):
            definition = json.dumps(other["definition"])
            kind = other.get("type", "STANDARD")
            self.engine.create_state_machine(
                name=other["name"], definition=definition, type=kind, role_arn=ROLE
            )
        for worker in self.case.get("workers", ()):
            self._workers.append(asyncio.create_task(self._work(worker)))

    def _make(self, resource: Mapping[str, Any]) -> None:
        kind = resource["kind"]
        if kind == "activity":
            name = resource["arn"].rsplit(":", 1)[1]
            # One case starts after its activity was deleted.
            if "on_deleted" not in self.case["id"]:
                self.engine.activities.create(name)
        elif kind == "log_group":
            # Another case may have made it: all share one account.
            logs = make_client("logs")
            with suppress(logs.exceptions.ResourceAlreadyExistsException):
                logs.create_log_group(logGroupName=resource["name"])
        elif kind == "s3_bucket":
            make_client("s3").create_bucket(Bucket=resource["Bucket"])
        elif kind == "s3_object":
            body = resource["Body"].encode()
            make_client("s3").put_object(Bucket=resource["Bucket"], Key=resource["Key"], Body=body)

    async def _work(self, worker: Mapping[str, Any]) -> None:
        """Do what the recorded consumer of an activity does."""
        states = worker["definition"]["States"]
        name = states["GetActivityTask"]["Parameters"]["WorkerName"]
        arn = worker["input"]["ActivityArn"]
        command = None
        while command is None:
            command = self.engine.activities.take(self.engine, arn, name)
            if command is None:
                await self.clock.sleep(1)
        token = command.token or ""
        if "SendHeartbeat" in states:
            await self.clock.sleep(2)
            self.engine.send_task_heartbeat(token)
            await self.clock.sleep(2)
        if {"SendSuccess", "TaskReceived"} & states.keys() and "Timeout" not in _title(worker):
            self.engine.send_task_success(token, command.arguments.text)

    async def close(self) -> None:
        """Stop everything."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        await self.engine.close()


def _title(worker: Mapping[str, Any]) -> str:
    comment = str(worker["definition"].get("Comment", ""))
    return "Timeout" if comment.endswith("TIMEOUT") else comment


class _Functions:
    def __init__(self, case: Case, clock: VirtualClock) -> None:
        self._behaviours: Mapping[str, str] = case.get("lambdas", {})
        self._clock = clock

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        parts = function_arn.split(":")
        name = parts[6] if len(parts) >= _ARN_PARTS else parts[0]
        behaviour = self._behaviours.get(name, "id")
        kind, _, rest = behaviour.partition(":")
        if kind == "sleeps":
            await self._clock.sleep(float(rest))
        result = _behave(kind, rest, payload)
        return InvokeResult(202, b"") if asynchronous else result


def _behave(kind: str, rest: str, payload: bytes) -> InvokeResult:
    if kind == "returns":
        return InvokeResult(200, rest.encode())
    if kind == "returns_large_string":
        return InvokeResult(200, b"a" * int(rest))
    if kind == "decorates_input":
        text = f"input-event-{json.loads(payload)}"
        return InvokeResult(200, dumps(text).encode())
    if kind != "raises":
        return InvokeResult(200, payload)
    error_type, _, message = rest.partition(":")
    error = {
        "errorMessage": message,
        "errorType": error_type,
        "requestId": str(uuid.uuid4()),
        "stackTrace": ["  File main.py, line 1, in handler\n"],
    }
    return InvokeResult(200, json.dumps(error).encode(), "Unhandled")


class _Mocked:
    """Answers of AWS's mock file first, the real integrations for what it does not name."""

    def __init__(self, case: Case, tasks: Integrations) -> None:
        self._tasks = tasks
        self.clients = tasks.clients
        self._answers = _mock_answers(case.get("mocks"))
        self._calls: dict[str, int] = {}

    async def run(self, request: TaskRequest) -> Json:
        answers = self._answers.get(request.state)
        if answers is None:
            return await self._tasks.run(request)
        number = self._calls.get(request.state, 0)
        self._calls[request.state] = number + 1
        answer = answers[min(number, len(answers) - 1)]
        if "Throw" in answer:
            raise StatesError(answer["Throw"]["Error"], answer["Throw"].get("Cause"))
        return await _answered(request, answer["Return"])


async def _answered(request: TaskRequest, answer: JsonValue) -> Json:
    if ":lambda:" not in request.resource:
        return Json(answer)
    lambdas = _Fixed(InvokeResult(200, dumps(answer["Payload"]).encode()))
    if request.resource.startswith("arn:aws:states:"):
        return await invoke_action(lambdas, request)
    return await invoke_function(lambdas, request)


class _Fixed:
    def __init__(self, result: InvokeResult) -> None:
        self._result = result

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        del function_arn, payload, asynchronous
        return self._result


def _mock_answers(mocks: Mapping[str, Any] | None) -> dict[str, list[Mapping[str, Any]]]:
    if mocks is None:
        return {}
    machine = next(iter(mocks["config"]["StateMachines"].values()))
    states = machine["TestCases"][mocks["test_case"]]
    responses = mocks["config"]["MockedResponses"]
    return {state: _in_order(responses[name]) for state, name in states.items()}


def _in_order(responses: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    answers: dict[int, Mapping[str, Any]] = {}
    for span, answer in responses.items():
        first, _, last = span.partition("-")
        for number in range(int(first), int(last or first) + 1):
            answers[number] = answer
    return [answers[number] for number in sorted(answers)]


def make_client(service: str) -> Any:
    """A boto3 client with made-up credentials, for services that moto plays in process."""
    session: Any = boto3.session.Session(
        aws_access_key_id="conformance",
        aws_secret_access_key="conformance",  # noqa: S106 - not a secret
        region_name=REGION,
    )
    return session.client(service, config=Config(retries={"total_max_attempts": 1}))
