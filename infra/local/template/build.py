"""Turns resources into what the laptop makes of them."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from local.template.errors import problem
from local.template.intrinsics import as_text
from local.template.model import (
    Bucket,
    Event,
    EventBus,
    Function,
    Rule,
    Schedule,
    StateMachine,
    Table,
    Target,
    VectorBucket,
    VectorIndex,
)
from local.template.references import KINDS
from local.template.stack import Stack
from local.template.yaml_text import Located

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


class Resource:
    """One resource of a stack with its properties resolved, Globals merged.

    Raises:
        TemplateError: a property cannot be resolved.
    """

    def __init__(self, stack: Stack, logical_id: str, body: Located) -> None:
        self.stack = stack
        self.logical_id = logical_id
        self.body = body
        section = body["Type"].rpartition("::")[2]
        is_sam = body["Type"].startswith("AWS::Serverless::")
        inherited = stack.globals.get(section) or {} if is_sam else {}
        self.raw: Mapping[str, Any] = merged(inherited, body.get("Properties") or {})
        unresolved = {"Policies", "Role", "AssumeRolePolicyDocument"}
        wanted = {key: value for key, value in self.raw.items() if key not in unresolved}
        self.properties: dict[str, Any] = stack.resolver(logical_id).value(wanted)

    def required(self, name: str) -> Any:
        """A property.

        Raises:
            TemplateError: it is absent.
        """
        if name not in self.properties:
            raise self.stack.error(f"{name} is missing.", self.logical_id, self.body)
        return self.properties[name]

    def number(self, name: str, default: int) -> int:
        """A property that is a whole number.

        Raises:
            TemplateError: it is none.
        """
        value = self.properties.get(name, default)
        try:
            return int(as_text(value))
        except ValueError:
            sentence = f"{name} is {value!r}, not a whole number."
            raise self.stack.error(sentence, self.logical_id, self.body) from None

    def events(self) -> tuple[Event, ...]:
        """SAM's Events."""
        found = self.properties.get("Events") or {}
        return tuple(
            Event(name, body.get("Type", ""), body.get("Properties") or {})
            for name, body in found.items()
        )


def merged(inherited: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Globals under a resource's own properties, as SAM merges them.

    Mappings are merged, lists of Globals come first, anything else is replaced.
    """
    result = dict(inherited)
    for key, value in own.items():
        before = result.get(key)
        if isinstance(before, dict) and isinstance(value, dict) and not _intrinsic(before, value):
            result[key] = merged(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            result[key] = [*before, *value]
        else:
            result[key] = value
    return result


def _intrinsic(*values: Mapping[str, Any]) -> bool:
    return any(key == "Ref" or key.startswith("Fn::") for value in values for key in value)


def function(resource: Resource) -> Function:
    """A Lambda function."""
    properties = resource.properties
    name = resource.stack.named(resource.logical_id, resource.body)
    variables = (properties.get("Environment") or {}).get("Variables") or {}
    concurrency = properties.get("ReservedConcurrentExecutions")
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


def rule(resource: Resource) -> Rule:
    """An EventBridge rule."""
    properties = resource.properties
    name = resource.stack.named(resource.logical_id, resource.body)
    targets = properties.get("Targets") or []
    bus = _bus_name(properties)
    return Rule(
        logical_id=resource.logical_id,
        name=name.name,
        arn=_rule_arn(bus, name.name),
        bus=bus,
        pattern=properties.get("EventPattern"),
        schedule=as_text(properties.get("ScheduleExpression", "")),
        enabled=properties.get("State", "ENABLED") != "DISABLED",
        targets=tuple(Target(as_text(target["Arn"]), target) for target in targets),
    )


def _rule_arn(bus: str, name: str) -> str:
    path = name if bus == "default" else f"{bus}/{name}"
    return KINDS["AWS::Events::Rule"].arn.format(name=path)


def _bus_name(properties: Mapping[str, Any]) -> str:
    return as_text(properties.get("EventBusName", "default")).rpartition("/")[2]


def schedule(resource: Resource) -> Schedule:
    """An EventBridge Scheduler schedule."""
    properties = resource.properties
    name = resource.stack.named(resource.logical_id, resource.body)
    target = resource.required("Target")
    return Schedule(
        logical_id=resource.logical_id,
        name=name.name,
        arn=name.arn,
        expression=as_text(resource.required("ScheduleExpression")),
        timezone=as_text(properties.get("ScheduleExpressionTimezone", "UTC")),
        enabled=properties.get("State", "ENABLED") != "DISABLED",
        target=Target(as_text(target["Arn"]), target),
    )


BUILDERS: Final[Mapping[str, Callable[[Resource], Built]]] = {
    "AWS::Serverless::Function": function,
    "AWS::Serverless::StateMachine": state_machine,
    "AWS::StepFunctions::StateMachine": state_machine,
    "AWS::DynamoDB::Table": table,
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


def event_rules(resource: Resource) -> Iterator[Rule | Schedule]:
    """What SAM makes of a function's or state machine's Events that come from EventBridge."""
    for event in resource.events():
        name = f"{resource.logical_id}{event.logical_id}"
        if event.type in {"EventBridgeRule", "CloudWatchEvent", "Schedule"}:
            yield _sam_rule(resource, name, event)
        elif event.type == "ScheduleV2":
            yield _sam_schedule(resource, name, event)


def _sam_rule(resource: Resource, name: str, event: Event) -> Rule:
    properties = event.properties
    is_enabled = as_text(properties.get("Enabled", True)).lower() == "true"
    pattern = properties.get("Pattern")
    if pattern is None and "Schedule" not in properties:
        sentence = f"Event {event.logical_id} needs a Pattern or a Schedule."
        raise problem(
            resource.stack.path, sentence, line=resource.body.line, resource=resource.logical_id
        )
    physical = as_text(properties.get("RuleName", properties.get("Name", name)))
    bus = _bus_name(properties)
    return Rule(
        logical_id=name,
        name=physical,
        arn=_rule_arn(bus, physical),
        bus=bus,
        pattern=pattern,
        schedule=as_text(properties.get("Schedule", "")),
        enabled=is_enabled and properties.get("State", "ENABLED") != "DISABLED",
        targets=(Target(_target_arn(resource), properties),),
    )


def _sam_schedule(resource: Resource, name: str, event: Event) -> Schedule:
    properties = event.properties
    physical = as_text(properties.get("Name", name))
    return Schedule(
        logical_id=name,
        name=physical,
        arn=KINDS["AWS::Scheduler::Schedule"].arn.format(name=physical),
        expression=as_text(properties.get("ScheduleExpression", "")),
        timezone=as_text(properties.get("ScheduleExpressionTimezone", "UTC")),
        enabled=properties.get("State", "ENABLED") != "DISABLED",
        target=Target(_target_arn(resource), properties),
    )


def _target_arn(resource: Resource) -> str:
    """A function's alias where it has one; a machine's alias where the template asks for it."""
    arn = resource.stack.named(resource.logical_id, resource.body).arn
    alias = as_text(resource.properties.get("AutoPublishAlias", ""))
    is_function = resource.body["Type"] == "AWS::Serverless::Function"
    wanted = is_function or resource.properties.get("UseAliasAsEventTarget") is True
    return f"{arn}:{alias}" if alias and wanted else arn
