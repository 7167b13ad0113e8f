"""What a Distributed Map asks for, evaluated where its state stands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from local.stepfunctions.jsontext import JsonValue

MOST_AT_ONCE: Final = 1_000
"""So many children run at once at most; AWS has room for more than a laptop."""


@dataclass(frozen=True, slots=True)
class Batching:
    """How items are put together; the sizes are None for no limit."""

    most_items: int | None
    most_bytes: int | None
    batch_input: JsonValue


@dataclass(frozen=True, slots=True)
class MapSpec:
    """One map run.

    Attributes:
        arn: its ARN.
        label: the Map state's label.
        items: what to map over, None when a reader brings it.
        reader: Resource, Arguments and ReaderConfig of the ItemReader, evaluated.
        select: makes a child's input from an index and an item; None takes the item.
        batching: how items are put together, None for one by one.
        concurrency: how many children run at once.
        tolerated_count: how many children may fail, None where the state does not say.
        tolerated_share: how many may fail in percent, None where the state does not say.
        writer: Resource, Arguments and WriterConfig of the ResultWriter, None for none.
        definition: the children's state machine.
        express: whether the children are Express executions.
        again: whether a redrive goes on with a run that failed.
    """

    arn: str
    label: str
    items: list[Any] | None
    reader: dict[str, Any] | None
    select: Callable[[int, JsonValue], JsonValue] | None
    batching: Batching | None
    concurrency: int
    tolerated_count: int | None
    tolerated_share: float | None
    writer: dict[str, Any] | None
    definition: str
    express: bool
    again: bool
