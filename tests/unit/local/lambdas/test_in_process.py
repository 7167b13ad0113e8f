import json
from decimal import Decimal

import pytest

from local.invoke import InvokeRefusedError
from local.lambdas.in_process import (
    FakeLambdaContext,
    InProcessLambdas,
    WorkerKilled,
    WorkerTimedOut,
)

ARN = "arn:aws:lambda:us-east-1:123456789012:function:"


def echo(event: object, context: FakeLambdaContext) -> object:
    return {"got": event, "arn": context.invoked_function_arn, "money": Decimal("1.50"), "é": 1}


def refuse(_event: object, _context: FakeLambdaContext) -> object:
    raise ValueError("not this one")


def die(_event: object, _context: FakeLambdaContext) -> object:
    raise WorkerKilled


def linger(_event: object, _context: FakeLambdaContext) -> object:
    raise WorkerTimedOut


def unspeakable(_event: object, _context: FakeLambdaContext) -> object:
    return {"a": object()}


async def wait(_event: object, _context: FakeLambdaContext) -> object:
    return "waited"


@pytest.fixture
def lambdas() -> InProcessLambdas:
    handlers = {
        "echo": echo,
        "refuse": refuse,
        "die": die,
        "linger": linger,
        "unspeakable": unspeakable,
        "wait": wait,
    }
    return InProcessLambdas(handlers, timeout=30, ids=lambda: "id-1")


async def test_a_handler_answers_by_name_and_by_version_arn(lambdas: InProcessLambdas) -> None:
    result = await lambdas.invoke(f"{ARN}echo:2", b'{"a":1}')
    assert result.executed_version == "2"
    assert result.function_error is None
    assert result.payload.decode() == (
        '{"got": {"a": 1}, "arn": "' + ARN + 'echo", "money": 1.50, "é": 1}'
    )


async def test_a_handler_may_take_virtual_time(lambdas: InProcessLambdas) -> None:
    assert (await lambdas.invoke("wait", b"{}")).payload == b'"waited"'


async def test_an_exception_becomes_lambdas_error_object(lambdas: InProcessLambdas) -> None:
    result = await lambdas.invoke("refuse", b"{}")
    error = json.loads(result.payload)
    assert result.function_error == "Unhandled"
    assert list(error) == ["errorMessage", "errorType", "requestId", "stackTrace"]
    assert error["errorMessage"] == "not this one"
    assert error["errorType"] == "ValueError"
    assert "in refuse" in error["stackTrace"][0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("die", "Runtime.ExitError"),
        ("linger", "Sandbox.Timedout"),
        ("unspeakable", "Runtime.MarshalError"),
    ],
)
async def test_what_the_runtime_reports_has_its_type(
    lambdas: InProcessLambdas, name: str, kind: str
) -> None:
    assert json.loads((await lambdas.invoke(name, b"{}")).payload)["errorType"] == kind


@pytest.mark.parametrize(
    ("name", "payload", "error"),
    [
        ("nobody", b"{}", "Lambda.ResourceNotFoundException"),
        ("echo", b"{", "Lambda.InvalidRequestContentException"),
        ("echo", b'"' + b"a" * 6_291_456 + b'"', "Lambda.RequestTooLargeException"),
    ],
)
async def test_what_lambda_itself_refuses_never_runs(
    lambdas: InProcessLambdas, name: str, payload: bytes, error: str
) -> None:
    with pytest.raises(InvokeRefusedError) as refused:
        await lambdas.invoke(name, payload)
    assert refused.value.error == error


async def test_an_event_is_tried_three_times_and_answers_at_once() -> None:
    tries = []

    def fail(event: object, _context: FakeLambdaContext) -> object:
        tries.append(event)
        raise ValueError

    result = await InProcessLambdas({"f": fail}).invoke("f", b"1", asynchronous=True)
    assert (result.status_code, result.payload) == (202, b"")
    assert tries == [1, 1, 1]
