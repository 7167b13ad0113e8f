"""The service `lambda` over HTTP: Invoke, GetFunction, GetFunctionConfiguration, ListFunctions."""

import base64
import re
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from local.asgi import ASGIApp, Receive, Scope, Send, header, read_body, respond, respond_json
from local.invoke import InvokeRefusedError, InvokeResult
from local.lambdas.functions import LATEST, LambdaFunction
from local.lambdas.service import Lambdas

FUNCTION: Final = re.compile(r"^/2015-03-31/functions/(?P<name>[^/]+)(?P<rest>/.*)?$")
# Lambda returns the last 4 KB of an invocation's log.
TAIL_BYTES: Final = 4096
STATUS: Final = {
    "ResourceNotFoundException": HTTPStatus.NOT_FOUND,
    "TooManyRequestsException": HTTPStatus.TOO_MANY_REQUESTS,
    "RequestTooLargeException": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "InvalidRequestContentException": HTTPStatus.BAD_REQUEST,
    "ServiceException": HTTPStatus.INTERNAL_SERVER_ERROR,
}


def lambda_app(lambdas: Lambdas) -> ASGIApp:
    """The ASGI app that answers boto3's `lambda` client for these functions."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        try:
            await _dispatch(lambdas, scope, body, send)
        except InvokeRefusedError as problem:
            await _refuse(send, problem)

    return app


async def _dispatch(lambdas: Lambdas, scope: Scope, body: bytes, send: Send) -> None:
    path = scope.get("raw_path", scope["path"].encode()).decode().partition("?")[0].rstrip("/")
    if path == "/2015-03-31/functions":
        functions = [_configuration(known, LATEST) for known in lambdas.functions.values()]
        await respond_json(send, HTTPStatus.OK, {"Functions": functions})
        return
    match = FUNCTION.match(path)
    route = (scope["method"], match["rest"]) if match else None
    query = parse_qs(scope["query_string"].decode())
    reference = _reference(unquote(match["name"]) if match else "", query.get("Qualifier", []))
    if route == ("POST", "/invocations"):
        await _invoke(lambdas, scope, reference, body, send)
    elif route in {("GET", None), ("GET", "/configuration")}:
        await _describe(lambdas, reference, send, whole=route == ("GET", None))
    else:
        problem = f"The local Lambda has no {scope['method']} {path}."
        await respond_json(send, HTTPStatus.NOT_IMPLEMENTED, {"Message": problem, "Type": "User"})


def _reference(name: str, qualifiers: list[str]) -> str:
    return f"{name}:{qualifiers[0]}" if qualifiers else name


async def _invoke(lambdas: Lambdas, scope: Scope, reference: str, body: bytes, send: Send) -> None:
    payload = body or b"{}"
    match header(scope, "x-amz-invocation-type"):
        case "Event":
            await _answer(send, await lambdas.invoke(reference, payload, asynchronous=True))
        case "DryRun":
            target = lambdas.resolve(reference)
            await _answer(send, InvokeResult(HTTPStatus.NO_CONTENT, b"", None, target.version))
        case _:
            result, lines = await lambdas.invoke_with_log(reference, payload)
            await _answer(send, result, _tail(lines) if _wants_log(scope) else {})


def _wants_log(scope: Scope) -> bool:
    return header(scope, "x-amz-log-type") == "Tail"


def _tail(lines: list[str]) -> dict[str, str]:
    text = "".join(f"{line}\n" for line in lines).encode()[-TAIL_BYTES:]
    return {"x-amz-log-result": base64.b64encode(text).decode()}


async def _answer(send: Send, result: InvokeResult, extra: dict[str, str] | None = None) -> None:
    headers = {
        "content-type": "application/json",
        "x-amz-executed-version": result.executed_version,
        **(extra or {}),
    }
    if result.function_error:
        headers["x-amz-function-error"] = result.function_error
    await respond(send, result.status_code, result.payload, headers)


async def _describe(lambdas: Lambdas, reference: str, send: Send, *, whole: bool) -> None:
    target = lambdas.resolve(reference)
    configuration = _configuration(lambdas.functions[target.name], target.version)
    code = {"RepositoryType": "S3", "Location": ""}
    shown = {"Configuration": configuration, "Code": code} if whole else configuration
    await respond_json(send, HTTPStatus.OK, shown)


def _configuration(function: LambdaFunction, version: str) -> dict[str, Any]:
    return {
        "FunctionName": function.name,
        "FunctionArn": function.arn if version == LATEST else f"{function.arn}:{version}",
        "Runtime": "python3.13",
        "Handler": function.handler,
        "Timeout": int(function.timeout),
        "MemorySize": function.memory,
        "Version": version,
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "PackageType": "Zip",
        "Architectures": ["arm64"],
        "Environment": {"Variables": dict(function.environment)},
        "Layers": [{"Arn": layer} for layer in function.layers],
    }


async def _refuse(send: Send, problem: InvokeRefusedError) -> None:
    name = problem.error.removeprefix("Lambda.")
    status = STATUS.get(name, HTTPStatus.INTERNAL_SERVER_ERROR)
    content = {"Type": "User", "Message": problem.cause, "message": problem.cause}
    if name == "TooManyRequestsException":
        content["Reason"] = "ReservedFunctionConcurrentInvocationLimitExceeded"
    await respond_json(send, status, content, {"x-amzn-errortype": name})
