"""The events of a history, in AWS's shapes: the one place that knows them."""

from collections.abc import Iterable
from typing import Any, Final

from local.stepfunctions.jsontext import dumps

_ENTERED: Final = "stateEnteredEventDetails"
_EXITED: Final = "stateExitedEventDetails"
_WITHOUT_DETAILS: Final = frozenset(
    {
        "ChoiceStateAborted", "LambdaFunctionStarted", "MapRunAborted", "MapRunSucceeded",
        "MapStateAborted", "MapStateFailed", "MapStateSucceeded", "ParallelStateAborted",
        "ParallelStateFailed", "ParallelStateStarted", "ParallelStateSucceeded",
        "TaskStateAborted", "WaitStateAborted",
    }
)  # fmt: skip
_SHARED_DETAILS: Final = {
    "MapIterationAborted": "mapIterationAbortedEventDetails",
    "MapIterationFailed": "mapIterationFailedEventDetails",
    "MapIterationStarted": "mapIterationStartedEventDetails",
    "MapIterationSucceeded": "mapIterationSucceededEventDetails",
}
_DATA: Final = ("input", "output", "assignedVariables")
# Parameters of a task are data too, but carry no "truncated" companion.
_HIDDEN: Final = (*_DATA, "parameters", "error", "cause")


class Event:
    """One event of a history.

    Attributes:
        id: 1 for the first.
        previous: the id of the event that led to this one, 0 for none.
        type: AWS's event type.
        timestamp: milliseconds since 1970.
        details: the members of the event's details; input, output and parameters are JSON text.
    """

    __slots__ = ("details", "id", "previous", "timestamp", "type")

    def __init__(
        self,
        number: int,
        previous: int,
        kind: str,
        timestamp: int,
        details: dict[str, Any],
    ) -> None:
        self.id = number
        self.previous = previous
        self.type = kind
        self.timestamp = timestamp
        self.details = details

    def __repr__(self) -> str:
        return f"<{self.id}<{self.previous} {self.type} {self.details}>"

    @property
    def state(self) -> str | None:
        """The name of the state, for the events that bear one."""
        name = self.details.get("name") or self.details.get("state")
        return name if isinstance(name, str) else None

    def api(self, *, data: bool = True) -> dict[str, Any]:
        """The event as GetExecutionHistory returns it; times are seconds.

        Args:
            data: whether to include inputs, outputs and parameters.
        """
        shape: dict[str, Any] = {
            "id": self.id,
            "previousEventId": self.previous,
            "timestamp": self.timestamp / 1000,
            "type": self.type,
        }
        key = details_key(self.type)
        if key is not None:
            shape[key] = _details(self.details, data=data)
        return shape


def details_key(kind: str) -> str | None:
    """The member that holds the details of an event type, None where it has none."""
    if kind.endswith("StateEntered"):
        return _ENTERED
    if kind.endswith("StateExited"):
        return _EXITED
    if kind in _WITHOUT_DETAILS:
        return None
    if kind in _SHARED_DETAILS:
        return _SHARED_DETAILS[kind]
    return f"{kind[0].lower()}{kind[1:]}EventDetails"


def _details(details: dict[str, Any], *, data: bool) -> dict[str, Any]:
    shape = dict(details)
    if "assignedVariables" in shape:
        variables = shape["assignedVariables"]
        shape["assignedVariables"] = {name: dumps(value) for name, value in variables.items()}
    if not data:
        return {key: value for key, value in shape.items() if key not in _HIDDEN}
    for key in _DATA:
        if key in shape:
            shape[f"{key}Details"] = {"truncated": False}
    return shape


def page(
    events: Iterable[Event], *, reverse: bool, start: int, size: int, data: bool
) -> tuple[list[dict[str, Any]], int | None]:
    """One page of a history and the start of the next one, None after the last.

    Args:
        events: the history in order.
        reverse: newest first.
        start: how many events to leave out, in the order asked for.
        size: at most so many.
        data: whether to include inputs and outputs.
    """
    ordered = list(events)
    if reverse:
        ordered.reverse()
    end = start + size
    following = end if end < len(ordered) else None
    return [event.api(data=data) for event in ordered[start:end]], following
