"""Turns resources into what the laptop makes of them."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from local.template.events import event_rules, rule, schedule
from local.template.intrinsics import as_text
from local.template.model import (
    Bucket,
    EventBus,
    Function,
    Rule,
    Schedule,
    StateMachine,
    Table,
    VectorBucket,
    VectorIndex,
)
from local.template.resource import Resource
from local.template.stack import Stack

Built = (
    Function
    | StateMachine
    | Table
    | Bucket
    | VectorBucket
    | VectorIndex
    | EventBus
    | Rule
    | Schedule
)
PLACEHOLDER: Final = re.compile(r"\$\{([A-Za-z0-9_]+)\}")
TABLE_PROPERTIES: Final = (
    "AttributeDefinitions",
    "KeySchema",
    "BillingMode",
    "ProvisionedThroughput",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
)


def function(resource: Resource) -> Function:
    """A Lambda function."""
    properties = resource.properties
    name = resource.stack.named(resource.logical_id, resource.body)
    variables = (properties.get("Environment") or {}).get("Variables") or {}
    concurrency = properties.get("ReservedConcurrentExecutions")
    invoked = properties.get("EventInvokeConfig") or {}
    return Function(
        logical_id=resource.logical_id,
        name=name.name,
        arn=name.arn,
        handler=as_text(resource.required("Handler")),
        timeout=resource.number("Timeout", 3),
        memory=resource.number("MemorySize", 128),
        environment={key: as_text(value) for key, value in variables.items()},
        layers=tuple(as_text(layer) for layer in properties.get("Layers") or ()),
        policies=_as_tuple(resource.raw.get("Policies")),
        code=resource.stack.path.parent / str(properties.get("CodeUri", ".")),
        runtime=as_text(properties.get("Runtime", "")),
        alias=as_text(properties.get("AutoPublishAlias", "")),
        concurrency=None if concurrency is None else int(as_text(concurrency)),
        log_format="JSON" if _logging(properties).get("LogFormat") == "JSON" else "Text",
        event_retries=int(as_text(invoked.get("MaximumRetryAttempts", 2))),
        events=resource.events(),
        settings=properties,
    )


def _logging(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return properties.get("LoggingConfig") or {}


def _as_tuple(value: object) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (value,)


def state_machine(resource: Resource) -> StateMachine:
    """A state machine, its definition's placeholders replaced."""
    properties = resource.properties
    name = resource.stack.named(resource.logical_id, resource.body)
    text, source = _definition(resource)
    given = properties.get("DefinitionSubstitutions") or {}
    substitutions = {key: as_text(value) for key, value in given.items()}
    kind: Literal["STANDARD", "EXPRESS"] = (
        "EXPRESS" if _kind(properties) == "EXPRESS" else "STANDARD"
    )
    tracing = properties.get("Tracing") or properties.get("TracingConfiguration") or {}
    return StateMachine(
        logical_id=resource.logical_id,
        name=name.name,
        arn=name.arn,
        definition=substituted(resource, text, substitutions, source),
        source=source,
        substitutions=substitutions,
        type=kind,
        tracing=as_text(tracing.get("Enabled", False)).lower() == "true",
        alias=as_text(properties.get("AutoPublishAlias", "")),
        events=resource.events(),
        settings=properties,
    )


def _kind(properties: Mapping[str, Any]) -> str:
    return as_text(properties.get("Type", properties.get("StateMachineType", "STANDARD")))


def _definition(resource: Resource) -> tuple[str, Path | None]:
    properties = resource.properties
    inline = properties.get("Definition", properties.get("DefinitionString"))
    if inline is not None:
        text = inline if isinstance(inline, str) else _as_json(inline)
        return text, None
    location = resource.required("DefinitionUri")
    file = resource.stack.path.parent / str(location)
    if not file.is_file():
        raise resource.stack.error(f"There is no file {file}.", resource.logical_id, resource.body)
    return file.read_text(encoding="utf-8"), file


def _as_json(value: object) -> str:
    import json

    return json.dumps(value, indent=2)


def substituted(
    resource: Resource, text: str, values: Mapping[str, str], source: Path | None
) -> str:
    """The definition with every placeholder replaced.

    Raises:
        TemplateError: DefinitionSubstitutions lack one.
    """
    missing = [name for name in PLACEHOLDER.findall(text) if name not in values]
    if missing:
        sentence = f"DefinitionSubstitutions lack {missing[0]}, which {source or 'Definition'} has."
        raise resource.stack.error(sentence, resource.logical_id, resource.body)
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)


def table(resource: Resource) -> Table:
    """A DynamoDB table."""
    properties = resource.properties
    name = resource.stack.named(resource.logical_id, resource.body)
    create: dict[str, Any] = {key: properties[key] for key in TABLE_PROPERTIES if key in properties}
    if "ProvisionedThroughput" not in create:
        create["BillingMode"] = "PAY_PER_REQUEST"
    stream = properties.get("StreamSpecification")
    if stream:
        create["StreamSpecification"] = {
            "StreamEnabled": True,
            "StreamViewType": stream.get("StreamViewType", "NEW_AND_OLD_IMAGES"),
        }
    ttl = properties.get("TimeToLiveSpecification") or {}
    enabled = as_text(ttl.get("Enabled", False)).lower() == "true"
    return Table(
        logical_id=resource.logical_id,
        name=name.name,
        arn=name.arn,
        create={"TableName": name.name, **create},
        ttl_attribute=ttl.get("AttributeName") if enabled else None,
    )


def bucket(resource: Resource) -> Bucket:
    """An S3 bucket."""
    properties = resource.properties
    name = resource.stack.named(resource.logical_id, resource.body)
    versioning = properties.get("VersioningConfiguration") or {}
    notifications = (properties.get("NotificationConfiguration") or {}).get(
        "EventBridgeConfiguration"
    )
    return Bucket(
        logical_id=resource.logical_id,
        name=name.name,
        arn=name.arn,
        versioned=versioning.get("Status") == "Enabled",
        events_to_eventbridge=notifications is not None
        and as_text(notifications.get("EventBridgeEnabled", True)).lower() == "true",
    )


def vector_bucket(resource: Resource) -> VectorBucket:
    """An S3 Vectors bucket."""
    name = resource.stack.named(resource.logical_id, resource.body)
    return VectorBucket(resource.logical_id, name.name, name.arn)


def vector_index(resource: Resource) -> VectorIndex:
    """An S3 Vectors index."""
    properties = resource.properties
    arn = as_text(resource.stack.ref(resource.logical_id))
    owner, _, index = arn.partition(":bucket/")[2].partition("/index/")
    create: dict[str, Any] = {
        "vectorBucketName": owner,
        "indexName": index,
        "dataType": resource.required("DataType"),
        "dimension": resource.number("Dimension", 0),
        "distanceMetric": resource.required("DistanceMetric"),
    }
    hidden = (properties.get("MetadataConfiguration") or {}).get("NonFilterableMetadataKeys")
    if hidden:
        create["metadataConfiguration"] = {"nonFilterableMetadataKeys": hidden}
    return VectorIndex(resource.logical_id, index, arn, owner, create)


def event_bus(resource: Resource) -> EventBus:
    """An EventBridge bus."""
    name = resource.stack.named(resource.logical_id, resource.body)
    return EventBus(resource.logical_id, name.name, name.arn)


def simple_table(resource: Resource) -> Table:
    """SAM's table with one key."""
    name = resource.stack.named(resource.logical_id, resource.body)
    key = resource.properties.get("PrimaryKey") or {}
    attribute = as_text(key.get("Name", "id"))
    kind = as_text(key.get("Type", "String"))[0].upper()
    create = {
        "TableName": name.name,
        "AttributeDefinitions": [{"AttributeName": attribute, "AttributeType": kind}],
        "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    return Table(resource.logical_id, name.name, name.arn, create, None)


BUILDERS: Final[Mapping[str, Callable[[Resource], Built]]] = {
    "AWS::Serverless::Function": function,
    "AWS::Lambda::Function": function,
    "AWS::Serverless::StateMachine": state_machine,
    "AWS::StepFunctions::StateMachine": state_machine,
    "AWS::DynamoDB::Table": table,
    "AWS::Serverless::SimpleTable": simple_table,
    "AWS::DynamoDB::GlobalTable": table,
    "AWS::S3::Bucket": bucket,
    "AWS::S3Vectors::VectorBucket": vector_bucket,
    "AWS::S3Vectors::Index": vector_index,
    "AWS::Events::EventBus": event_bus,
    "AWS::Events::Rule": rule,
    "AWS::Scheduler::Schedule": schedule,
}


def build(stack: Stack) -> Iterator[Built]:
    """Everything of a stack and the stacks inside it that the laptop makes."""
    for inner in stack.nested():
        yield from build(inner)
    for logical_id, body in stack.resources():
        builder = BUILDERS.get(body["Type"])
        if builder is not None:
            resource = Resource(stack, logical_id, body)
            yield builder(resource)
            yield from event_rules(resource)
