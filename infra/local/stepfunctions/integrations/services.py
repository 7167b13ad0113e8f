"""Every other AWS service, through boto3: optimised integrations and `aws-sdk:`."""

import re
from collections.abc import Callable
from typing import Any, Final

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from local.stepfunctions.errors import RUNTIME, StatesError
from local.stepfunctions.integrations.metadata import request_id, sdk_metadata
from local.stepfunctions.integrations.shapes import to_arguments, to_output
from local.stepfunctions.jsontext import Json, dumps
from local.stepfunctions.tasks import TaskRequest

# Services whose name in ASL is not their name in boto3.
_BOTO_NAMES: Final = {"sfn": "stepfunctions", "eventbridge": "events", "cloudwatchlogs": "logs"}
# Names that optimised integrations use in error names and sentences.
_OPTIMISED: Final = {
    "dynamodb": ("DynamoDB", "AmazonDynamoDBv2"),
    "events": ("EventBridge", "AmazonEventBridge"),
    "sns": ("SNS", "AmazonSNS"),
    "sqs": ("SQS", "AmazonSQS"),
}
_WORD: Final = re.compile(r"[^A-Za-z0-9]")


def call_service(
    clients: Callable[[str], Any], service: str, action: str, request: TaskRequest
) -> Json:
    """Call one action of a service, in a thread.

    Returns:
        The answer, keys as Step Functions spells them.

    Raises:
        StatesError: the service refused, under the error name Step Functions gives it.
    """
    sdk = service.startswith("aws-sdk:")
    name = service.removeprefix("aws-sdk:")
    client = clients(_BOTO_NAMES.get(name, name))
    operation = action[0].upper() + action[1:]
    if operation not in client.meta.service_model.operation_names:
        raise StatesError(RUNTIME, f"The service {name} has no action {action}")
    model = client.meta.service_model.operation_model(operation)
    arguments = to_arguments(model.input_shape, request.arguments.data)
    try:
        answer = getattr(client, xform_name(operation))(**arguments)
    except ClientError as error:
        raise _refused(error, name, sdk=sdk, request=request) from error
    except BotoCoreError as error:
        prefix = _service_word(name, sdk=sdk)
        raise StatesError(f"{prefix}.SdkClientException", str(error)) from error
    metadata = answer.pop("ResponseMetadata", {})
    output = to_output(model.output_shape, answer)
    if not sdk:
        headers = {str(key): str(value) for key, value in metadata.get("HTTPHeaders", {}).items()}
        number = metadata.get("RequestId") or request_id(request)
        output |= sdk_metadata(request, headers, number)
    _raise_failed_entries(name, output)
    return Json(output)


def _raise_failed_entries(name: str, output: dict[str, Any]) -> None:
    if name == "events" and output.get("FailedEntryCount"):
        told = {key: output[key] for key in ("Entries", "FailedEntryCount")}
        raise StatesError("EventBridge.FailedEntry", dumps(told))


def _service_word(name: str, *, sdk: bool) -> str:
    if not sdk and name in _OPTIMISED:
        return _OPTIMISED[name][0]
    words = {"dynamodb": "DynamoDb", "sfn": "Sfn", "s3": "S3", "sqs": "Sqs", "sns": "Sns",
             "secretsmanager": "SecretsManager", "eventbridge": "EventBridge"}  # fmt: skip
    return words.get(name, name[0].upper() + name[1:])


def _refused(error: ClientError, name: str, *, sdk: bool, request: TaskRequest) -> StatesError:
    details = error.response.get("Error", {})
    code = _WORD.sub("", str(details.get("Code", "Unknown")).rpartition(".")[2])
    message = str(details.get("Message", ""))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    number = request_id(request)
    word = _service_word(name, sdk=sdk)
    kind = code if code.endswith(("Exception", "Error")) else f"{code}Exception"
    if sdk:
        if code == "ValidationException":
            kind = f"{word}Exception"
        sentence = f"{message} (Service: {word}, Status Code: {status}, Request ID: {number})"
        return StatesError(f"{word}.{kind}", sentence)
    long_name = _OPTIMISED.get(name, (word, f"Amazon{word}"))[1]
    if code == "ValidationException":
        kind = f"Amazon{word}Exception"
    sentence = (
        f"{message} (Service: {long_name}; Status Code: {status}; Error Code: {code};"
        f" Request ID: {number}; Proxy: null)"
    )
    return StatesError(f"{word}.{kind}", sentence)
