"""Lambda: a function's own ARN as resource, and `lambda:invoke` with and without token."""

from typing import Any, Final

from local.constants import PAYLOAD_BYTES
from local.invoke import InvokeRefusedError, InvokeResult, LambdaInvoker
from local.stepfunctions.errors import DATA_LIMIT, RUNTIME, StatesError
from local.stepfunctions.flow import too_large
from local.stepfunctions.integrations.metadata import request_id, sdk_metadata
from local.stepfunctions.jsontext import Json, dumps, loads
from local.stepfunctions.tasks import TaskRequest

_UNKNOWN: Final = "Lambda.Unknown"
_BAD_CONTENT: Final = "Lambda.InvalidRequestContentException"


async def invoke_function(lambdas: LambdaInvoker, request: TaskRequest) -> Json:
    """Call a function whose ARN is the resource; its payload is the output.

    Raises:
        StatesError: the function failed or could not be called.
    """
    result = await _invoke(lambdas, request.resource, request.arguments.text.encode())
    _raise_failure(result, compact=False)
    return _payload_of(result, request.resource)


async def invoke_action(lambdas: LambdaInvoker, request: TaskRequest) -> Json:
    """Call `lambda:invoke`; the output is Lambda's answer with the SDK's metadata.

    Raises:
        StatesError: the function failed or could not be called.
    """
    arguments = request.arguments.data
    if not isinstance(arguments, dict) or not isinstance(arguments.get("FunctionName"), str):
        raise StatesError(RUNTIME, "The field 'FunctionName' is required but was missing")
    asynchronous = arguments.get("InvocationType") == "Event"
    name = arguments["FunctionName"]
    if "Qualifier" in arguments:
        name = f"{name}:{arguments['Qualifier']}"
    result = await _invoke(lambdas, name, _payload(arguments), asynchronous=asynchronous)
    _raise_failure(result, compact=True)
    return _answer(request, result)


def _payload(arguments: dict[str, Any]) -> bytes:
    payload = arguments.get("Payload", {})
    if not isinstance(payload, str):
        return dumps(payload).encode()
    # AWS sends a text as it is: it must be JSON itself.
    try:
        loads(payload)
    except ValueError as problem:
        raise StatesError(
            _BAD_CONTENT, f"Could not parse request body into json: {problem}"
        ) from problem
    return payload.encode()


async def _invoke(
    lambdas: LambdaInvoker, name: str, payload: bytes, *, asynchronous: bool = False
) -> InvokeResult:
    try:
        return await lambdas.invoke(name, payload, asynchronous=asynchronous)
    except InvokeRefusedError as refusal:
        raise StatesError(refusal.error, refusal.cause) from refusal


def _raise_failure(result: InvokeResult, *, compact: bool) -> None:
    if result.function_error is None:
        return
    text = result.payload.decode()
    try:
        error = loads(text)
    except ValueError:
        error = None
    kind = error.get("errorType") if isinstance(error, dict) else None
    if not isinstance(kind, str):
        raise StatesError(
            _UNKNOWN,
            "The cause could not be determined because Lambda did not return an error type."
            f" Returned payload: {text}",
        )
    raise StatesError(kind, dumps(error) if compact else text)


def _payload_of(result: InvokeResult, who: str) -> Json:
    if len(result.payload) > PAYLOAD_BYTES:
        raise StatesError(DATA_LIMIT, too_large(who))
    text = result.payload.decode()
    try:
        return Json.parse(text)
    except ValueError as problem:
        raise StatesError(_UNKNOWN, f"The function returned no JSON: {text[:200]}") from problem


def _answer(request: TaskRequest, result: InvokeResult) -> Json:
    # An asynchronous invocation answers without a payload.
    payload = _payload_of(result, "lambda") if result.payload else Json({})
    number = request_id(request)
    headers = {
        "X-Amz-Executed-Version": result.executed_version,
        "x-amzn-Remapped-Content-Length": "0",
        "Connection": "keep-alive",
        "x-amzn-RequestId": number,
        "Content-Length": str(len(result.payload)),
        "X-Amzn-Trace-Id": f"root=1-{number[:8]}-{number[9:13]}{number[14:18]}{number[24:]}",
        "Content-Type": "application/json",
    }
    answer = {"ExecutedVersion": result.executed_version, "Payload": payload.data}
    answer |= sdk_metadata(request, headers, number)
    answer["StatusCode"] = result.status_code
    return Json(answer)
