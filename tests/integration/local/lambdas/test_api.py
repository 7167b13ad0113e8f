import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from mypy_boto3_lambda import LambdaClient
from mypy_boto3_lambda.literals import InvocationTypeType

from integration.local.clients import lambda_client
from local.gateway import bind, gateway, serving
from local.lambdas.api import lambda_app
from local.lambdas.functions import LambdaFunction, Preload
from local.lambdas.service import Lambdas, Settings

CODE = """
def echo(event, context):
    print("seen")
    return event

def raises(event, context):
    raise ValueError("no")
"""


@pytest.fixture
async def boto(tmp_path: Path) -> AsyncIterator[LambdaClient]:
    (tmp_path / "code.py").write_text(CODE)
    nothing = Preload(modules=(), packages=(), clients=())
    functions = [
        LambdaFunction("Echo", "code.echo", timeout=30, preload=nothing),
        LambdaFunction("Raises", "code.raises", timeout=30, preload=nothing),
        LambdaFunction("Full", "code.echo", concurrency=0, preload=nothing),
    ]
    lambdas = Lambdas(functions, Settings(tmp_path))
    async with serving(gateway({"lambda": lambda_app(lambdas)}), bind(0)) as url:
        yield lambda_client(url)
    await lambdas.stop()


async def test_invoke_answers_payload_version_and_log(boto: LambdaClient) -> None:
    result = await asyncio.to_thread(
        boto.invoke, FunctionName="Echo:3", Payload=b'{"a": 1}', LogType="Tail"
    )
    assert json.loads(result["Payload"].read()) == {"a": 1}
    assert (result["StatusCode"], result["ExecutedVersion"]) == (200, "3")
    assert "FunctionError" not in result
    assert b"seen" in base64.b64decode(result["LogResult"])


async def test_a_function_error_is_told_from_a_result(boto: LambdaClient) -> None:
    result = await asyncio.to_thread(boto.invoke, FunctionName="Raises")
    assert result["FunctionError"] == "Unhandled"
    assert json.loads(result["Payload"].read())["errorType"] == "ValueError"


@pytest.mark.parametrize(("kind", "status"), [("Event", 202), ("DryRun", 204)])
async def test_the_other_ways_to_invoke_answer_no_payload(
    boto: LambdaClient, kind: InvocationTypeType, status: int
) -> None:
    arn = "arn:aws:lambda:us-east-1:123456789012:function:Echo"
    result = await asyncio.to_thread(boto.invoke, FunctionName=arn, InvocationType=kind)
    assert result["StatusCode"] == status


@pytest.mark.parametrize(
    ("name", "payload", "code", "status"),
    [
        ("Nobody", b"{}", "ResourceNotFoundException", 404),
        ("Full", b"{}", "TooManyRequestsException", 429),
        ("Echo", b"{", "InvalidRequestContentException", 400),
        ("Echo", b'"' + b"a" * 6_291_456 + b'"', "RequestTooLargeException", 413),
    ],
)
async def test_a_refusal_has_lambdas_error_code(
    boto: LambdaClient, name: str, payload: bytes, code: str, status: int
) -> None:
    with pytest.raises(ClientError) as refused:
        await asyncio.to_thread(boto.invoke, FunctionName=name, Payload=payload)
    assert refused.value.response["Error"]["Code"] == code
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


async def test_functions_are_listed_and_described(boto: LambdaClient) -> None:
    listed = await asyncio.to_thread(boto.list_functions)
    assert [function["FunctionName"] for function in listed["Functions"]] == [
        "Echo",
        "Raises",
        "Full",
    ]
    shown = await asyncio.to_thread(boto.get_function, FunctionName="Echo", Qualifier="2")
    assert shown["Configuration"]["Handler"] == "code.echo"
    assert shown["Configuration"]["FunctionArn"].endswith(":function:Echo:2")
