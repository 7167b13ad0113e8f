"""Rules and schedules: those of the template and those that SAM makes of Events."""

from collections.abc import Iterator, Mapping
from typing import Any

from local.template.errors import problem
from local.template.intrinsics import as_text
from local.template.model import Event, Rule, Schedule, Target
from local.template.references import KINDS
from local.template.resource import Resource


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
