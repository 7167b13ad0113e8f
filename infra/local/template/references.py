"""What Ref and Fn::GetAtt give for each kind of resource on the laptop.

Where CloudFormation would make up a physical name, the laptop takes the logical id, in lower case
where the service wants that.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from local.constants import ACCOUNT, PARTITION, REGION

ON_LAMBDA: Final = ("AWS::Serverless::Function", "AWS::Lambda::Function")
ON_MACHINE: Final = ("AWS::Serverless::StateMachine", "AWS::StepFunctions::StateMachine")


@dataclass(frozen=True)
class Kind:
    """How resources of a type are named.

    Attributes:
        name_property: property with the physical name, "" where there is none.
        arn: ARN with {name} in it.
        ref: what Ref gives, with {name} and {arn}.
        attributes: Fn::GetAtt beyond Arn, likewise.
        lower: the service's names are in lower case.
    """

    name_property: str
    arn: str
    ref: str = "{name}"
    attributes: tuple[tuple[str, str], ...] = ()
    lower: bool = False


def _arn(service: str, resource: str, region: str = REGION, account: str = ACCOUNT) -> str:
    return f"arn:{PARTITION}:{service}:{region}:{account}:{resource}"


_FUNCTION = Kind("FunctionName", _arn("lambda", "function:{name}"))
_LAYER = Kind("LayerName", _arn("lambda", "layer:{name}:1"), "{arn}")
_TABLE = Kind(
    "TableName",
    _arn("dynamodb", "table/{name}"),
    attributes=(("StreamArn", "{arn}/stream/2026-01-01T00:00:00.000"),),
)
_MACHINE_NAME = (("Name", "{name}"),)

KINDS: Final[Mapping[str, Kind]] = {
    "AWS::Serverless::Function": _FUNCTION,
    "AWS::Lambda::Function": _FUNCTION,
    "AWS::Serverless::LayerVersion": _LAYER,
    "AWS::Lambda::LayerVersion": _LAYER,
    "AWS::Serverless::StateMachine": Kind(
        "Name", _arn("states", "stateMachine:{name}"), "{arn}", _MACHINE_NAME
    ),
    "AWS::StepFunctions::StateMachine": Kind(
        "StateMachineName", _arn("states", "stateMachine:{name}"), "{arn}", _MACHINE_NAME
    ),
    "AWS::DynamoDB::Table": _TABLE,
    "AWS::Serverless::SimpleTable": _TABLE,
    "AWS::DynamoDB::GlobalTable": _TABLE,
    "AWS::S3::Bucket": Kind(
        "BucketName",
        _arn("s3", "{name}", "", ""),
        attributes=(("DomainName", "{name}.s3.amazonaws.com"),),
        lower=True,
    ),
    "AWS::S3Vectors::VectorBucket": Kind(
        "VectorBucketName",
        _arn("s3vectors", "bucket/{name}"),
        "{arn}",
        (("VectorBucketArn", "{arn}"),),
        lower=True,
    ),
    "AWS::Events::EventBus": Kind(
        "Name", _arn("events", "event-bus/{name}"), attributes=(("Name", "{name}"),)
    ),
    "AWS::Events::Rule": Kind("Name", _arn("events", "rule/{name}")),
    "AWS::Scheduler::Schedule": Kind("Name", _arn("scheduler", "schedule/default/{name}")),
    "AWS::SQS::Queue": Kind(
        "QueueName",
        _arn("sqs", "{name}"),
        f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{{name}}",
        (("QueueName", "{name}"),),
    ),
    "AWS::SNS::Topic": Kind(
        "TopicName",
        _arn("sns", "{name}"),
        "{arn}",
        (("TopicArn", "{arn}"), ("TopicName", "{name}")),
    ),
    "AWS::IAM::Role": Kind("RoleName", _arn("iam", "role/{name}", "")),
    "AWS::IAM::ManagedPolicy": Kind("ManagedPolicyName", _arn("iam", "policy/{name}", ""), "{arn}"),
    "AWS::KMS::Key": Kind("", _arn("kms", "key/{name}"), attributes=(("KeyId", "{name}"),)),
    "AWS::Logs::LogGroup": Kind("LogGroupName", _arn("logs", "log-group:{name}:*")),
    "AWS::SSM::Parameter": Kind("Name", _arn("ssm", "parameter/{name}")),
}


@dataclass(frozen=True)
class Named:
    """A resource's physical name and ARN."""

    kind: Kind
    name: str

    @property
    def arn(self) -> str:
        """The ARN."""
        return self.kind.arn.format(name=self.name)

    @property
    def ref(self) -> str:
        """What Ref gives."""
        return self.kind.ref.format(name=self.name, arn=self.arn)

    def attribute(self, name: str) -> str | None:
        """What Fn::GetAtt gives, None where the laptop knows no such attribute."""
        found = dict(self.kind.attributes).get(name)
        if found is not None:
            return found.format(name=self.name, arn=self.arn)
        return self.arn if name == "Arn" else None


def named(kind: str, logical_id: str, physical: Callable[[str], str | None]) -> Named:
    """Name a resource.

    Args:
        kind: its type, one of KINDS.
        logical_id: its key in Resources.
        physical: the resolved value of a property, None where it is absent.
    """
    found = KINDS[kind]
    given = physical(found.name_property) if found.name_property else None
    made_up = logical_id.lower() if found.lower else logical_id
    return Named(found, given or made_up)
