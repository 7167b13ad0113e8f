"""Workflow events on EventBridge."""

from functools import cache
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from autoops.adapters.aws import client, translated
from autoops.config import settings
from autoops.domain.contracts import Json, to_json
from autoops.errors import DependencyUnavailable

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

SOURCE: Final = "autoops"


class EventBus:
    """`autoops.ports.Events` on a bus."""

    def __init__(self, events: "EventBridgeClient", bus: str) -> None:
        self._events = events
        self._bus = bus

    def publish(self, kind: str, detail: Json) -> None:
        """See `Events.publish`."""
        entry: PutEventsRequestEntryTypeDef = {
            "Source": SOURCE,
            "DetailType": kind,
            "Detail": to_json(detail),
            "EventBusName": self._bus,
        }
        try:
            answer = self._events.put_events(Entries=[entry])
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "events") from error
        if answer["FailedEntryCount"]:
            raise DependencyUnavailable(f"events: {answer['Entries'][0].get('ErrorCode')}")


@cache
def event_bus() -> EventBus:
    """The bus of this process."""
    return EventBus(client("events"), settings().event_bus)
