"""What the AWS SDK adds to the answer of an optimised integration."""

import hashlib
import uuid
from datetime import UTC, datetime
from typing import Any

from local.stepfunctions.tasks import TaskRequest


def request_id(request: TaskRequest) -> str:
    """A request id that is the same for the same task of the same execution."""
    digest = hashlib.md5(  # noqa: S324 - an identifier, not a secret
        f"{request.execution_arn}:{request.task}".encode()
    ).digest()
    return str(uuid.UUID(bytes=digest, version=4))


def sdk_metadata(request: TaskRequest, headers: dict[str, str], number: str) -> dict[str, Any]:
    """The SdkHttpMetadata and SdkResponseMetadata of an answer.

    Args:
        request: the task.
        headers: the answer's HTTP headers; the date is added.
        number: the request id.
    """
    moment = datetime.fromtimestamp(request.engine.clock.now() / 1000, UTC)
    headers = {**headers, "Date": f"{moment:%a, %d %b %Y %H:%M:%S} GMT"}
    return {
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [value] for name, value in headers.items()},
            "HttpHeaders": headers,
            "HttpStatusCode": 200,
        },
        "SdkResponseMetadata": {"RequestId": number},
    }
