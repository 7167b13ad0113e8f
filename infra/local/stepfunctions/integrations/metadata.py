"""What the AWS SDK adds to the answer of an optimised integration."""

import hashlib
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from local.stepfunctions.tasks import TaskRequest


def request_id(request: TaskRequest) -> str:
    """A request id that is the same for the same task of the same execution."""
    digest = hashlib.md5(  # noqa: S324 - an identifier, not a secret
        f"{request.execution_arn}:{request.task}".encode()
    ).hexdigest()
    # The digits of a version 4 UUID.
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:]}"


def sdk_metadata(request: TaskRequest, headers: dict[str, str], number: str) -> dict[str, Any]:
    """The SdkHttpMetadata and SdkResponseMetadata of an answer.

    Args:
        request: the task.
        headers: the answer's HTTP headers; the date is added.
        number: the request id.
    """
    headers = {**headers, "Date": http_date(request.engine.clock.now() // 1000)}
    return {
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [value] for name, value in headers.items()},
            "HttpHeaders": headers,
            "HttpStatusCode": 200,
        },
        "SdkResponseMetadata": {"RequestId": number},
    }


@lru_cache(maxsize=8)
def http_date(second: int) -> str:
    """A moment as HTTP writes it."""
    return f"{datetime.fromtimestamp(second, UTC):%a, %d %b %Y %H:%M:%S} GMT"
