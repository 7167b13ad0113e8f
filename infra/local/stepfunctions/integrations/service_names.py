"""Services under the names that state machines, boto3 and error names have for them."""

import re
from functools import cache
from typing import Final

from botocore.model import ServiceModel
from botocore.session import Session

SDK: Final = "aws-sdk:"
# Step Functions takes the SDK for Java's names; these are not boto3's without hyphens.
_JAVA_NAMES: Final = {
    "applicationdiscovery": "discovery",
    "cloudwatchlogs": "logs",
    "cognitoidentityprovider": "cognito-idp",
    "costandusagereport": "cur",
    "costexplorer": "ce",
    "databasemigration": "dms",
    "directory": "ds",
    "elasticloadbalancing": "elb",
    "elasticloadbalancingv2": "elbv2",
    "elasticsearch": "es",
    "eventbridge": "events",
    "iotdataplane": "iot-data",
    "iotjobsdataplane": "iot-jobs-data",
    "lexmodelbuilding": "lex-models",
    "lexmodelsv2": "lexv2-models",
    "lexruntime": "lex-runtime",
    "lexruntimev2": "lexv2-runtime",
    "marketplaceentitlement": "marketplace-entitlement",
    "marketplacemetering": "meteringmarketplace",
    "migrationhub": "mgh",
    "pinpointsmsvoice": "sms-voice",
    "serverlessapplicationrepository": "serverlessrepo",
    "sfn": "stepfunctions",
    "simpledb": "sdb",
}
_OPTIMISED_NAMES: Final = {
    "bedrock:invokeModel": "bedrock-runtime",
    "elasticmapreduce": "emr",
    "states": "stepfunctions",
}
_IRREGULAR: Final = {"SESv2": "SesV2"}
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+|[0-9]+")


def boto_name(service: str, action: str) -> str | None:
    """boto3's name of a service, None where boto3 has none.

    Args:
        service: as it stands in a Resource, such as "sqs" or "aws-sdk:bedrockruntime".
        action: the action, such as "invokeModel".
    """
    if not service.startswith(SDK):
        own = _OPTIMISED_NAMES.get(f"{service}:{action}") or _OPTIMISED_NAMES.get(service, service)
        return own if own in _by_compact_name().values() else None
    name = service.removeprefix(SDK)
    return _JAVA_NAMES.get(name) or _by_compact_name().get(name)


@cache
def _by_compact_name() -> dict[str, str]:
    return {name.replace("-", ""): name for name in Session().get_available_services()}


def java_name(model: ServiceModel) -> str:
    """The word before the dot in the error names of `aws-sdk:` tasks, such as "DynamoDb"."""
    name = str(model.service_id)
    regular = "".join(word.capitalize() for word in _WORDS.findall(name))
    return _IRREGULAR.get(name, regular)


def java_exception(model: ServiceModel, code: str) -> str | None:
    """The class of the SDK for Java for an error code; None for a code its model does not have."""
    for shape in model.error_shapes:
        if code in (str(getattr(shape, "error_code", "")), shape.name):
            name = str(shape.name).removesuffix("Fault")
            return name if name.endswith("Exception") else f"{name}Exception"
    return None
