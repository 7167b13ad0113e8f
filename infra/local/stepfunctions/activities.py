"""Activities: tasks that workers ask for and answer by token."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from local.stepfunctions.commands import RunTask, WorkerStarted
from local.stepfunctions.errors import ApiError
from local.stepfunctions.live import Live
from local.stepfunctions.names import Names, check_arn, check_name

if TYPE_CHECKING:
    from local.stepfunctions.engine import Engine

_LONGEST_POLL: Final = 60_000


@dataclass(slots=True)
class Activity:
    """An activity and the tasks that wait for its workers."""

    arn: str
    name: str
    created: int
    tags: dict[str, str] = field(default_factory=dict)
    waiting: deque[tuple[Live, RunTask]] = field(default_factory=deque)
    workers: deque[asyncio.Future[None]] = field(default_factory=deque)

    def record(self) -> dict[str, Any]:
        """The activity as the journal keeps it."""
        return {"arn": self.arn, "name": self.name, "created": self.created, "tags": self.tags}


class Activities:
    """All activities of an engine.

    Args:
        names: makes ARNs.
        now: the engine's time in milliseconds.
        keep: called with an activity that changed, or with its ARN and None when it is gone.
    """

    def __init__(
        self,
        names: Names,
        now: Callable[[], int],
        keep: "Callable[[str, Activity | None], None]",
    ) -> None:
        self._names = names
        self._keep = keep
        self._now = now
        self._activities: dict[str, Activity] = {}

    def __iter__(self) -> Iterator[Activity]:
        return iter(sorted(self._activities.values(), key=lambda activity: activity.name))

    def create(self, name: str) -> Activity:
        """Add an activity; the same name again is the one that exists.

        Raises:
            ApiError: InvalidName.
        """
        arn = self._names.activity(check_name(name))
        activity = self._activities.get(arn)
        if activity is None:
            activity = Activity(arn, name, self._now())
            self.restore(activity)
            self.changed(activity)
        return activity

    def restore(self, activity: Activity) -> None:
        """Take up an activity that was kept."""
        self._activities[activity.arn] = activity

    def changed(self, activity: Activity) -> None:
        """Keep an activity that was changed."""
        self._keep(activity.arn, activity)

    def get(self, arn: str) -> Activity:
        """The activity of an ARN.

        Raises:
            ApiError: InvalidArn, ActivityDoesNotExist.
        """
        activity = self._activities.get(check_arn(arn, "activity"))
        if activity is None:
            raise ApiError("ActivityDoesNotExist", f"Activity Does Not Exist: '{arn}'")
        return activity

    def knows(self, arn: str) -> bool:
        """Whether there is such an activity."""
        return arn in self._activities

    def delete(self, arn: str) -> None:
        """Remove an activity; none there is no error."""
        if self._activities.pop(check_arn(arn, "activity"), None) is not None:
            self._keep(arn, None)

    def offer(self, _: "Engine", live: Live, command: RunTask) -> bool:
        """Queue a task when its resource is an activity; False when it is something else."""
        if ":activity:" not in command.resource:
            return False
        activity = self._activities.get(command.resource)
        if activity is not None:
            activity.waiting.append((live, command))
            while activity.workers:
                worker = activity.workers.popleft()
                if not worker.done():
                    worker.set_result(None)
                    break
        return True

    def take(self, engine: "Engine", arn: str, worker: str | None) -> RunTask | None:
        """Give the next waiting task to a worker, None when none waits."""
        activity = self.get(arn)
        while activity.waiting:
            live, command = activity.waiting.popleft()
            if command.task in live.run.tasks:
                engine.driver.post(live, WorkerStarted(command.task, worker))
                engine.driver.pump()
                return command
        return None

    async def wait_and_take(self, engine: "Engine", arn: str, worker: str | None) -> RunTask | None:
        """As `take`, after waiting up to a minute of the engine's time for a task.

        Raises:
            ApiError: InvalidArn, ActivityDoesNotExist.
        """
        command = self.take(engine, arn, worker)
        if command is not None:
            return command
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.get(arn).workers.append(arrived)

        def give_up() -> None:
            if not arrived.done():
                arrived.set_result(None)

        timer = engine.clock.call_at(self._now() + _LONGEST_POLL, give_up)
        await arrived
        timer.cancel()
        return self.take(engine, arn, worker)
