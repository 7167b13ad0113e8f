"""How the history of a task reads: AWS names and shapes the events by the kind of resource."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from local.stepfunctions.jsontext import Json

_LAMBDA: Final = re.compile(r"arn:aws[\w-]*:lambda:")
_ACTIVITY: Final = re.compile(r"arn:aws[\w-]*:states:[\w-]+:\d+:activity:")
_INTEGRATION: Final = re.compile(
    r"arn:aws[\w-]*:states:[\w-]*:\d*:((?:aws-sdk:)?[\w-]+):(\w+(?:\.[\w:]+)?)$"
)


@dataclass(frozen=True, slots=True)
class TaskEvents:
    """The events of one kind of task.

    Attributes:
        prefix: Task, LambdaFunction or Activity.
        resource: what events call the resource: the ARN, or the action of an integration.
        resource_type: the service of an integration, None otherwise.
    """

    prefix: str
    resource: str
    resource_type: str | None

    @property
    def starts_at_once(self) -> bool:
        """Whether Started follows Scheduled at once; an activity waits for its worker."""
        return self.prefix != "Activity"

    @property
    def by_worker(self) -> bool:
        """Whether a worker asks for the task."""
        return self.prefix == "Activity"

    @property
    def who(self) -> str:
        """What AWS's sentences call the task."""
        return self.resource_type or self.resource

    def kind(self, moment: str) -> str:
        """The event type of a moment, such as "Scheduled"."""
        return f"{self.prefix}{moment}"

    def base(self) -> dict[str, Any]:
        """The details that each event of an integration bears."""
        if self.resource_type is None:
            return {}
        return {"resourceType": self.resource_type, "resource": self.resource}

    def scheduled(
        self, given: Json, timeout: float | None, heartbeat: float | None, region: str
    ) -> dict[str, Any]:
        """The details of the Scheduled event."""
        details: dict[str, Any] = {}
        if self.resource_type is None:
            details |= {"resource": self.resource, "input": given.text}
        else:
            details |= {**self.base(), "region": region, "parameters": given.text}
        if timeout is not None:
            details["timeoutInSeconds"] = int(timeout)
        if heartbeat is not None:
            details["heartbeatInSeconds"] = int(heartbeat)
        return details


@cache
def events_for(resource: str) -> TaskEvents:
    """The events of a Resource.

    Raises:
        ValueError: it is no resource of a Task.
    """
    if _LAMBDA.match(resource):
        return TaskEvents("LambdaFunction", resource, None)
    if _ACTIVITY.match(resource):
        return TaskEvents("Activity", resource, None)
    service, action = split_integration(resource)
    return TaskEvents("Task", action, service)


def split_integration(resource: str) -> tuple[str, str]:
    """Service and action of an integration, such as ("aws-sdk:dynamodb", "putItem").

    Raises:
        ValueError: it is no integration.
    """
    found = _INTEGRATION.match(resource)
    if found is None:
        raise ValueError(f"{resource!r} is no resource of a Task")
    return found[1], found[2]
