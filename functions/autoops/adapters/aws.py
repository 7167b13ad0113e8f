"""The one home of AWS clients: one HTTP attempt, explicit timeouts, made on first use."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from autoops.errors import AutoOpsError, DependencyUnavailable, InvalidInput

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3vectors import S3VectorsClient
    from mypy_boto3_stepfunctions import SFNClient

CONNECT_SECONDS: Final = 3
READ_SECONDS: Final = 10
MODEL_READ_SECONDS: Final = 120
"""Longer than a model takes for the most output we allow, shorter than the function's timeout."""

TRANSIENT: Final = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "InternalServerException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
        "TransactionConflictException",
    }
)


@overload
def client(service: Literal["dynamodb"]) -> "DynamoDBClient": ...
@overload
def client(service: Literal["s3"]) -> "S3Client": ...
@overload
def client(service: Literal["s3vectors"]) -> "S3VectorsClient": ...
@overload
def client(service: Literal["stepfunctions"]) -> "SFNClient": ...
@overload
def client(service: Literal["events"]) -> "EventBridgeClient": ...
@overload
def client(
    service: Literal["bedrock-runtime"], read_seconds: int | None = None
) -> "BedrockRuntimeClient": ...
def client(service: str, read_seconds: int | None = None) -> Any:
    """The process's client of a service; it waits as long as its service takes or as is said."""
    return _client(service, read_seconds)


@cache
def _client(service: str, read_seconds: int | None = None) -> Any:
    import boto3
    from botocore.config import Config

    usual = MODEL_READ_SECONDS if service == "bedrock-runtime" else READ_SECONDS
    read = usual if read_seconds is None else read_seconds
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read,
        retries={"total_max_attempts": 1, "mode": "standard"},
        tcp_keepalive=True,
    )
    return boto3.client(service, config=config)  # type: ignore[call-overload]  # noqa: TID251  # any service; the one home


def error_code(error: Exception) -> str:
    """The service's error code, "" when the error came from elsewhere."""
    response = getattr(error, "response", None)
    if not isinstance(response, Mapping):
        return ""
    return str(response.get("Error", {}).get("Code", ""))


def http_status(error: Exception) -> int:
    """The answer's HTTP status, 0 when no answer came."""
    response = getattr(error, "response", None)
    if not isinstance(response, Mapping):
        return 0
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def is_transient(error: Exception) -> bool:
    """The service answered that the same request may succeed later."""
    status = http_status(error)
    return error_code(error) in TRANSIENT or status == 429 or status >= 500


def is_network_error(error: Exception) -> bool:
    """No whole answer came from the service."""
    from botocore.exceptions import ConnectionError as NotConnectedError
    from botocore.exceptions import HTTPClientError, IncompleteReadError

    broken = isinstance(error, NotConnectedError | HTTPClientError | IncompleteReadError)
    return broken or type(error).__name__ == "ResponseParserError"


def translated(error: Exception, service: str) -> AutoOpsError:
    """One of our errors for what botocore raised; it holds code and service, no content."""
    code = error_code(error)
    if is_transient(error):
        return DependencyUnavailable(f"{service}: {code}")
    if code:
        return InvalidInput(f"{service} refused the request: {code}")
    if type(error).__name__ == "NoRegionError":
        return InvalidInput("environment: AWS_REGION not set")
    if is_network_error(error):
        return DependencyUnavailable(f"{service}: {type(error).__name__}")
    return InvalidInput(f"{service}: {type(error).__name__}; check credentials and the request")
