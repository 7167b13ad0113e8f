from pathlib import Path

import pytest

from local.lambdas.functions import LambdaFunction, Qualified, qualified, worker_environment

ARN = "arn:aws:lambda:us-east-1:123456789012:function:CallModelFunction"


@pytest.mark.parametrize(
    ("reference", "version"),
    [
        ("CallModelFunction", "$LATEST"),
        ("CallModelFunction:7", "7"),
        (ARN, "$LATEST"),
        (f"{ARN}:$LATEST", "$LATEST"),
        (f"{ARN}:12", "12"),
        (f"{ARN}:live", "1"),
        ("123456789012:function:CallModelFunction:3", "3"),
    ],
)
def test_every_way_to_name_a_function_finds_it(reference: str, version: str) -> None:
    assert qualified(reference) == Qualified("CallModelFunction", version)


def test_a_function_sees_lambdas_variables_and_its_own() -> None:
    function = LambdaFunction("Open", "steps.open_run.handler.handler", environment={"TABLE": "t"})
    environment = worker_environment(
        function,
        version="3",
        instance="ab",
        task_root=Path("/code"),
        endpoint_url="http://127.0.0.1:4566",
    )
    assert environment["AWS_LAMBDA_FUNCTION_NAME"] == "Open"
    assert environment["AWS_LAMBDA_FUNCTION_VERSION"] == "3"
    assert environment["LAMBDA_TASK_ROOT"] == "/code"
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
    assert environment["TABLE"] == "t"


def test_a_function_never_sees_the_users_credentials() -> None:
    environment = worker_environment(
        LambdaFunction("f", "h.h"), version="1", instance="", task_root=Path(), endpoint_url=None
    )
    assert environment["AWS_SHARED_CREDENTIALS_FILE"] == "/dev/null"
    assert environment["AWS_CONFIG_FILE"] == "/dev/null"
    assert environment["AWS_EC2_METADATA_DISABLED"] == "true"
