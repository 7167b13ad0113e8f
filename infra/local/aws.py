"""The services that moto plays, over HTTP: one request at a time, in this process.

moto keeps its state in the process, so two `Moto` objects see the same tables and buckets.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from local.asgi import ASGIApp, Receive, Scope, Send, header, read_body, respond
from local.constants import ACCOUNT, REGION
from local.dynamodb import DynamoDbFront
from local.gateway import signed_service

if TYPE_CHECKING:
    from moto.core.request import Request

Answer = tuple[int, Mapping[str, Any], bytes]
Handler = Callable[["Request", str, Any], tuple[int, Mapping[str, Any], Any]]
EventsHook = Callable[[list[dict[str, Any]]], None]
# Name in the credential scope -> moto's module and the host its URLs have.
SERVICES: Final[Mapping[str, tuple[str, str]]] = {
    "dynamodb": ("dynamodb", f"dynamodb.{REGION}.amazonaws.com"),
    "dynamodbstreams": ("dynamodbstreams", f"streams.dynamodb.{REGION}.amazonaws.com"),
    "events": ("events", f"events.{REGION}.amazonaws.com"),
    "kms": ("kms", f"kms.{REGION}.amazonaws.com"),
    "logs": ("logs", f"logs.{REGION}.amazonaws.com"),
    "s3": ("s3", "s3.amazonaws.com"),
    "scheduler": ("scheduler", f"scheduler.{REGION}.amazonaws.com"),
    "ses": ("ses", f"email.{REGION}.amazonaws.com"),
    "sesv2": ("sesv2", f"email.{REGION}.amazonaws.com"),
    "sns": ("sns", f"sns.{REGION}.amazonaws.com"),
    "sqs": ("sqs", f"sqs.{REGION}.amazonaws.com"),
    "ssm": ("ssm", f"ssm.{REGION}.amazonaws.com"),
    "sts": ("sts", f"sts.{REGION}.amazonaws.com"),
}
NO_BODY: Final = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


@dataclass(frozen=True)
class Call:
    """One request to a service.

    Attributes:
        service: key of SERVICES.
        path: as it came, percent-encoded.
        query: as it came, without the question mark.
        headers: names in lower case.
    """

    service: str
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Moto:
    """An ASGI app for every service in SERVICES; DynamoDB stands behind its front.

    Attributes:
        on_events: receives the entries of each PutEvents that succeeded, each with its Id, as moto
            itself delivers to queues and logs only.
        dynamodb: the front, for faults.
    """

    on_events: EventsHook = lambda _entries: None
    dynamodb: DynamoDbFront = field(default_factory=DynamoDbFront)
    _handlers: dict[str, list[tuple[re.Pattern[str], Handler]]] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. No await between its parts: requests do not interleave."""
        body = await read_body(receive)
        call = _call_of(scope, body)
        status, headers, content = self.answer(call)
        await respond(send, status, content, _wire_headers(headers, call, content))

    def answer(self, call: Call) -> Answer:
        """Run one request to its end."""
        try:
            if call.service == "dynamodb":
                return self.dynamodb.answer(call.headers, call.body, lambda: self._run(call))
            answer = self._run(call)
        except NotImplementedError as missing:
            return _not_here(call, str(missing))
        if call.service == "events" and call.headers.get("x-amz-target", "").endswith(".PutEvents"):
            self._tell(call, answer)
        return answer

    def ask(self, service: str, target: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """Call an operation of a service that speaks AWS JSON, without a connection.

        Args:
            service: such as "dynamodb".
            target: such as "DynamoDB_20120810.CreateTable".
            content: the request.

        Raises:
            ValueError: the service refused; its answer is the message.
        """
        headers = {"x-amz-target": target, "content-type": "application/x-amz-json-1.0"}
        call = Call(service, "POST", "/", "", headers, json.dumps(content).encode())
        status, _, answer = self.answer(call)
        if status != HTTPStatus.OK:
            raise ValueError(f"{target}: {answer.decode()}")
        told: dict[str, Any] = json.loads(answer or b"{}")
        return told

    def put_object(self, bucket: str, key: str, content: bytes) -> None:
        """Put an object, or with an empty key make the bucket, without a connection.

        Raises:
            ValueError: the service refused; its answer is the message.
        """
        path = f"/{bucket}/{quote(key)}" if key else f"/{bucket}"
        status, _, answer = self.answer(Call("s3", "PUT", path, "", {}, content))
        if status != HTTPStatus.OK:
            raise ValueError(f"s3 {path}: {answer.decode()}")

    def load(self, *services: str) -> None:
        """Import what services need, ahead of their first request; safe to run in a thread."""
        for service in services:
            self._routes(service)

    def reset(self) -> None:
        """Forget every table, bucket, queue and so on."""
        from moto.core.base_backend import BackendDict

        BackendDict.reset()

    def _run(self, call: Call) -> Answer:
        from werkzeug.exceptions import HTTPException

        request = _moto_request(call)
        handler = self._handler(call)
        try:
            status, headers, content = handler(request, request.raw_url, request.headers)
        except HTTPException as problem:
            status, headers, content = (
                problem.code or HTTPStatus.INTERNAL_SERVER_ERROR,
                dict(problem.get_headers()),
                problem.get_body(),
            )
        return status, headers, content.encode() if isinstance(content, str) else bytes(content)

    def _handler(self, call: Call) -> Handler:
        url = f"https://{SERVICES[call.service][1]}{call.path}"
        for pattern, handler in self._routes(call.service):
            if pattern.match(url):
                return handler
        raise NotImplementedError(f"{call.method} {call.path}")

    def _routes(self, service: str) -> list[tuple[re.Pattern[str], Handler]]:
        if service not in self._handlers:
            self._handlers[service] = _routes(service)
        return self._handlers[service]

    def _tell(self, call: Call, answer: Answer) -> None:
        status, _, content = answer
        if status != HTTPStatus.OK:
            return
        entries = json.loads(call.body).get("Entries", [])
        results = json.loads(content).get("Entries", [])
        accepted = [
            {**entry, "Id": result["EventId"]}
            for entry, result in zip(entries, results, strict=True)
            if "EventId" in result
        ]
        self.on_events(accepted)


def moto_app(on_events: EventsHook = lambda _entries: None) -> Moto:
    """The app for all of SERVICES: `gateway({name: app for name in SERVICES})`."""
    return Moto(on_events)


def moto_services(moto: Moto) -> dict[str, ASGIApp]:
    """The app by the names in credential scopes."""
    return dict.fromkeys(SERVICES, moto)


def _call_of(scope: Scope, body: bytes) -> Call:
    raw = scope.get("raw_path") or scope["path"].encode()
    path = raw.decode("latin-1").partition("?")[0]
    service = signed_service(scope) or "s3"
    if service == "ses" and path.startswith("/v2/"):
        service = "sesv2"
    if service == "dynamodb" and header(scope, "x-amz-target").startswith("DynamoDBStreams"):
        service = "dynamodbstreams"
    headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
    query = scope["query_string"].decode("latin-1")
    return Call(service, scope["method"], path, query, headers, body)


def _moto_request(call: Call) -> "Request":
    """The request as moto takes it; S3 keeps the IP address as host, so paths name the bucket."""
    from moto.core.request import Request

    host = call.headers.get("host", "") if call.service == "s3" else SERVICES[call.service][1]
    query = f"?{call.query}" if call.query else ""
    request = Request.from_primitives(
        call.method, f"http://{host}{call.path}{query}", {**call.headers, "host": host}, call.body
    )
    request.environ["RAW_URI"] = f"{call.path}{query}"
    return request


def _routes(service: str) -> list[tuple[re.Pattern[str], Handler]]:
    if service == "dynamodb":
        from local.transactions import FrontHandler

        return [(re.compile(""), FrontHandler.dispatch)]
    from moto.backends import get_backend
    from moto.core.base_backend import BackendDict

    backends = get_backend(SERVICES[service][0])  # type: ignore[call-overload]  # a name it knows
    if not isinstance(backends, BackendDict):
        raise NotImplementedError(f"moto has no {service}")
    regions = backends[ACCOUNT]
    backend = regions[REGION] if REGION in regions else regions["aws"]
    return [(re.compile(url), handler) for url, handler in backend.urls.items()]


def _wire_headers(headers: Mapping[str, Any], call: Call, content: bytes) -> dict[str, str]:
    fields = {str(name).lower(): str(value) for name, value in headers.items()}
    fields.pop("status", None)
    if call.method != "HEAD" or "content-length" not in fields:
        fields["content-length"] = str(len(content))
    return fields


def _not_here(call: Call, what: str) -> Answer:
    message = f"The local {call.service} does not have it: {what}."
    error = {"__type": "NotImplementedException", "message": message, "Message": message}
    headers = {"content-type": "application/json", "x-amzn-errortype": "NotImplementedException"}
    return HTTPStatus.NOT_IMPLEMENTED, headers, json.dumps(error).encode()
