import json
from typing import Any

import pytest

from local.asgi import ASGIApp, Message, Receive, Scope, Send, read_body, respond
from local.gateway import gateway, signed_service


def request(authorization: str = "", query: str = "") -> Scope:
    return {
        "type": "http",
        "method": "POST",
        "path": "/",
        "headers": [(b"authorization", authorization.encode())],
        "query_string": query.encode(),
    }


def signature(service: str) -> str:
    return (
        f"AWS4-HMAC-SHA256 Credential=AKIA/20261201/us-east-1/{service}/aws4_request, "
        "SignedHeaders=host, Signature=00"
    )


def named(name: str) -> ASGIApp:
    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        await respond(send, 200, name.encode())

    return app


async def answer(app: ASGIApp, scope: Scope) -> tuple[int, bytes]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


async def test_a_request_goes_to_the_service_it_was_signed_for() -> None:
    app = gateway({"dynamodb": named("tables"), "s3": named("buckets")})
    assert await answer(app, request(signature("s3"))) == (200, b"buckets")
    assert await answer(app, request(signature("dynamodb"))) == (200, b"tables")


@pytest.mark.parametrize(
    "query",
    [
        "X-Amz-Credential=AKIA%2F20261201%2Fus-east-1%2Fs3%2Faws4_request",
        "X-Amz-Credential=AKIA/20261201/us-east-1/s3/aws4_request",
    ],
)
def test_a_presigned_url_names_its_service(query: str) -> None:
    assert signed_service(request(query=query)) == "s3"


async def test_an_unknown_service_is_named_with_those_there_are() -> None:
    status, body = await answer(gateway({"s3": named("")}), request(signature("redshift")))
    error: dict[str, Any] = json.loads(body)
    assert status == 501
    assert error["message"] == "The local AWS has no service 'redshift'; it has s3."


async def test_a_request_without_a_signature_goes_to_the_http_side_or_is_refused() -> None:
    assert await answer(gateway({}, named("api")), request()) == (200, b"api")
    status, _ = await answer(gateway({}), request())
    assert status == 403


async def test_a_service_that_breaks_is_reported() -> None:
    async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ValueError("broken")

    heard: list[tuple[str, str]] = []
    app = gateway({"s3": broken}, report=lambda name, problem: heard.append((name, str(problem))))
    with pytest.raises(ValueError, match="broken"):
        await answer(app, request(signature("s3")))
    assert heard == [("s3", "broken")]
