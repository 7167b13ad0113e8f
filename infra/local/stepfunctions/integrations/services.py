"""Every other AWS service, through boto3: optimised integrations and `aws-sdk:`."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError
from botocore.model import ServiceModel

from local.stepfunctions.errors import RUNTIME, StatesError
from local.stepfunctions.integrations.metadata import request_id, sdk_metadata
from local.stepfunctions.integrations.service_names import (
    SDK,
    boto_name,
    java_exception,
    java_name,
)
from local.stepfunctions.integrations.shapes import to_arguments, to_output
from local.stepfunctions.jsontext import Json, dumps, loads
from local.stepfunctions.tasks import TaskRequest

# Names that optimised integrations use in error names and sentences.
_OPTIMISED: Final = {
    "bedrock": ("Bedrock", "AmazonBedrockRuntime"),
    "dynamodb": ("DynamoDB", "AmazonDynamoDBv2"),
    "events": ("EventBridge", "AmazonEventBridge"),
    "sns": ("SNS", "AmazonSNS"),
    "sqs": ("SQS", "AmazonSQS"),
}


def call_service(
    clients: Callable[[str], Any], service: str, action: str, request: TaskRequest
) -> Json:
    """Call one action of a service, in a thread.

    Returns:
        The answer, keys as Step Functions spells them.

    Raises:
        StatesError: the service refused, under the error name Step Functions gives it.
    """
    client = _client(clients, service, action)
    operation = action[0].upper() + action[1:]
    if operation not in client.meta.service_model.operation_names:
        raise StatesError(RUNTIME, f"The service {service} has no action {action}")
    model = client.meta.service_model.operation_model(operation)
    arguments = to_arguments(model.input_shape, request.arguments.data)
    try:
        answer = getattr(client, xform_name(operation))(**arguments)
    except ClientError as error:
        raise _refused(error, service, client.meta.service_model, request) from error
    except BotoCoreError as error:
        prefix = _service_word(service, client.meta.service_model)
        raise StatesError(f"{prefix}.SdkClientException", str(error)) from error
    metadata = answer.pop("ResponseMetadata", {})
    output = to_output(model.output_shape, answer)
    if service == "bedrock":
        return Json(_model_answer(output))
    if not service.startswith(SDK):
        headers = {str(key): str(value) for key, value in metadata.get("HTTPHeaders", {}).items()}
        number = metadata.get("RequestId") or request_id(request)
        output |= sdk_metadata(request, headers, number)
    _raise_failed_entries(service, output)
    return Json(output)


def _client(clients: Callable[[str], Any], service: str, action: str) -> Any:
    name = boto_name(service, action)
    if name is None:
        raise StatesError(RUNTIME, f"The service {service} is not known")
    return clients(name)


def _model_answer(output: dict[str, Any]) -> dict[str, Any]:
    """What `bedrock:invokeModel` gives: the body as JSON, without the SDK's metadata."""
    body = output.get("Body")
    if isinstance(body, str):
        try:
            output["Body"] = loads(body)
        except ValueError:
            output["Body"] = body
    return output


def _raise_failed_entries(service: str, output: dict[str, Any]) -> None:
    if service == "events" and output.get("FailedEntryCount"):
        told = {key: output[key] for key in ("Entries", "FailedEntryCount")}
        raise StatesError("EventBridge.FailedEntry", dumps(told))


def _service_word(service: str, model: ServiceModel) -> str:
    known = _OPTIMISED.get(service)
    return java_name(model) if known is None else known[0]


def _refused(
    error: ClientError, service: str, model: ServiceModel, request: TaskRequest
) -> StatesError:
    """The error as Step Functions names it: by the SDK's class, or the service's general one."""
    details: Mapping[str, Any] = error.response.get("Error", {})
    code = str(details.get("QueryErrorCode") or details.get("Code", "Unknown"))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    number = request_id(request)
    word = _service_word(service, model)
    exception = java_exception(model, code)
    message = str(details.get("Message", ""))
    if service.startswith(SDK):
        kind = exception or f"{word}Exception"
        sentence = f"{message} (Service: {word}, Status Code: {status}, Request ID: {number})"
    else:
        kind = exception or f"Amazon{word}Exception"
        long_name = _OPTIMISED.get(service, (word, f"Amazon{word}"))[1]
        sentence = (
            f"{message} (Service: {long_name}; Status Code: {status}; Error Code: {code};"
            f" Request ID: {number}; Proxy: null)"
        )
    return StatesError(f"{word}.{kind}", sentence)
