"""A service behind a real boto3 client: answers in bytes, read by botocore's own parser."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config

from autoops.domain.contracts import Json


class _Raw(io.BytesIO):
    def stream(self, amt: int = 65_536, decode_content: bool = False) -> Iterator[bytes]:  # noqa: ARG002
        yield self.read()


@dataclass
class Service:
    """Answers one request after the other from its script.

    Attributes:
        script: status and body, or an exception that the transport raises.
        requests: bodies that were sent, as JSON.
        paths: where they were sent.
    """

    script: list[tuple[int, bytes] | Exception] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def says(self, *bodies: Json, status: int = 200) -> "Service":
        """Add answers in JSON."""
        self.script += [(status, json.dumps(body).encode()) for body in bodies]
        return self

    def fails(self, code: str, status: int, message: str = "no") -> "Service":
        """Add an error answer."""
        self.script.append((status, json.dumps({"__type": code, "message": message}).encode()))
        return self

    def client(self, name: str) -> Any:
        """A client of the service; every request of it is answered from the script."""
        made = boto3.client(  # type: ignore[call-overload]  # the name is a variable
            name,
            region_name="us-east-1",
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=Config(retries={"total_max_attempts": 1}),
        )
        made.meta.events.register("before-send.*.*", self._answer)
        return made

    def _answer(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        body: Any = request.body or b"{}"
        self.requests.append(json.loads(body))
        self.paths.append(request.url)
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        status, content = said
        headers = HTTPHeaders()
        headers["content-type"] = "application/json"
        return AWSResponse(request.url, status, headers, _Raw(content))
