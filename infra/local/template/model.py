"""What a template declares, ready to be made on the laptop."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """One entry of a function's or state machine's Events, its properties resolved."""

    logical_id: str
    type: str
    properties: Properties


@dataclass(frozen=True)
class Function:
    """A Lambda function.

    Attributes:
        name: FunctionName, or the logical id where the template gives none: on AWS CloudFormation
            would make one up.
        code: folder of CodeUri.
        layers: ARNs; the layer's logical id is in each.
        policies: as the template has them, unresolved.
        alias: AutoPublishAlias, "" where there is none.
        concurrency: ReservedConcurrentExecutions.
        log_format: "JSON" or "Text".
        event_retries: EventInvokeConfig's MaximumRetryAttempts.
        settings: all resolved properties, for what is not named here.
    """

    logical_id: str
    name: str
    arn: str
    handler: str
    timeout: int
    memory: int
    environment: Mapping[str, str]
    layers: tuple[str, ...]
    policies: tuple[Any, ...]
    code: Path
    runtime: str
    alias: str
    concurrency: int | None
    log_format: Literal["Text", "JSON"]
    event_retries: int
    events: tuple[Event, ...]
    settings: Properties = field(repr=False)


@dataclass(frozen=True)
class StateMachine:
    """A Step Functions state machine.

    Attributes:
        name: Name, or the logical id.
        definition: the ASL text with every placeholder replaced.
        source: the ASL file, None for an inline definition.
        substitutions: what replaced the placeholders.
        alias: AutoPublishAlias, "" where there is none; then there is no version either.
    """

    logical_id: str
    name: str
    arn: str
    definition: str = field(repr=False)
    source: Path | None
    substitutions: Mapping[str, str]
    type: Literal["STANDARD", "EXPRESS"]
    tracing: bool
    alias: str
    events: tuple[Event, ...]
    settings: Properties = field(repr=False)

    @property
    def version_arn(self) -> str:
        """ARN of the one version that the laptop publishes."""
        return f"{self.arn}:1"

    @property
    def alias_arn(self) -> str:
        """ARN of the alias; the machine's own where there is none."""
        return f"{self.arn}:{self.alias}" if self.alias else self.arn


@dataclass(frozen=True)
class Table:
    """A DynamoDB table.

    Attributes:
        create: arguments of boto3's `create_table`.
        ttl_attribute: attribute of the time to live, None where it is off.
    """

    logical_id: str
    name: str
    arn: str
    create: Properties
    ttl_attribute: str | None


@dataclass(frozen=True)
class Bucket:
    """An S3 bucket.

    Attributes:
        versioned: whether object versions are kept.
        events_to_eventbridge: whether its events go to the default bus.
    """

    logical_id: str
    name: str
    arn: str
    versioned: bool
    events_to_eventbridge: bool


@dataclass(frozen=True)
class VectorBucket:
    """An S3 Vectors bucket."""

    logical_id: str
    name: str
    arn: str


@dataclass(frozen=True)
class VectorIndex:
    """An S3 Vectors index.

    Attributes:
        create: arguments of boto3's `create_index`, the bucket by name.
    """

    logical_id: str
    name: str
    arn: str
    bucket: str
    create: Properties


@dataclass(frozen=True)
class EventBus:
    """An EventBridge bus."""

    logical_id: str
    name: str
    arn: str


@dataclass(frozen=True)
class Target:
    """Where a rule or schedule delivers: the ARN and the rest of the target's properties."""

    arn: str
    properties: Properties


@dataclass(frozen=True)
class Rule:
    """An EventBridge rule: events by pattern, or a time.

    Attributes:
        bus: name of the bus.
        pattern: EventPattern, None for a scheduled rule.
        schedule: `rate(...)` or `cron(...)`, "" for a pattern.
    """

    logical_id: str
    name: str
    arn: str
    bus: str
    pattern: Properties | None
    schedule: str
    enabled: bool
    targets: tuple[Target, ...]


@dataclass(frozen=True)
class Schedule:
    """An EventBridge Scheduler schedule.

    Attributes:
        expression: `rate(...)`, `cron(...)` or `at(...)`.
        timezone: IANA name.
    """

    logical_id: str
    name: str
    arn: str
    expression: str
    timezone: str
    enabled: bool
    target: Target
