"""Clients wait as long as we say and try once; their errors become ours."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from botocore.exceptions import (
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    ReadTimeoutError,
)

from autoops.adapters import aws
from autoops.adapters.aws import CONNECT_SECONDS, MODEL_READ_SECONDS, READ_SECONDS, translated
from autoops.domain.contracts import Json
from autoops.errors import AutoOpsError, DependencyUnavailable, InvalidInput
from fake_dynamodb import client_error

FUNCTIONS = Path(__file__).parents[3] / "functions"
SERVICES = ["dynamodb", "s3", "s3vectors", "stepfunctions", "events", "bedrock-runtime"]
URL: dict[str, Any] = {"endpoint_url": "http://127.0.0.1", "error": "x"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_client_waits_as_long_as_we_say_and_tries_once(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    config = aws._client.__wrapped__(service).meta.config  # past the cache
    assert config.connect_timeout == CONNECT_SECONDS
    expected = MODEL_READ_SECONDS if service == "bedrock-runtime" else READ_SECONDS
    assert config.read_timeout == expected
    assert expected != 60, "botocore's own default, which kills long generations"
    assert config.retries["total_max_attempts"] == 1


def error(code: str, status: int = 400) -> Exception:
    meta = {"HTTPStatusCode": status}
    return client_error(code, "Operation", ResponseMetadata=meta)


@pytest.mark.parametrize(
    ("raised", "ours"),
    [
        (error("ThrottlingException"), DependencyUnavailable),
        (error("SlowDown", 503), DependencyUnavailable),
        (error("RequestTimeout"), DependencyUnavailable),
        (error("InternalServerException", 500), DependencyUnavailable),
        (error("502", 502), DependencyUnavailable),
        (error("SomethingNew", 500), DependencyUnavailable),
        (error("SomethingNew", 429), DependencyUnavailable),
        (error("AccessDeniedException"), InvalidInput),
        (error("ValidationException"), InvalidInput),
        (EndpointConnectionError(**URL), DependencyUnavailable),
        (ReadTimeoutError(**URL), DependencyUnavailable),
        (NoCredentialsError(), InvalidInput),
        (ParamValidationError(report="canary"), InvalidInput),
    ],
)
def test_what_may_pass_is_tried_again_and_what_cannot_is_given_up(
    raised: Exception, ours: type[AutoOpsError]
) -> None:
    said = translated(raised, "s3")
    assert type(said) is ours
    assert str(said).startswith("s3")
    assert "canary" not in str(said)


def test_without_a_region_the_variable_is_named() -> None:
    assert "AWS_REGION" in str(translated(NoRegionError(), "s3"))


@pytest.mark.parametrize("response", [None, {}, {"Error": {}}, {"Error": {"Code": None}}, "text"])
def test_an_error_of_any_shape_has_a_code_or_none(response: Json) -> None:
    odd = cast("Any", ValueError("x"))
    odd.response = response
    assert aws.error_code(odd) in ("", "None")


def test_every_handler_imports_without_any_variable() -> None:
    modules = [
        ".".join(path.relative_to(FUNCTIONS).with_suffix("").parts)
        for path in sorted(FUNCTIONS.glob("*/*/handler.py"))
    ]
    code = "; ".join(f"import {module}" for module in modules)
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(FUNCTIONS)!r}); {code}"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
