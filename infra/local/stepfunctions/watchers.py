"""Who is told what happens: live displays, and what delivers status events."""

import logging
from collections.abc import Callable
from typing import Any

from local.stepfunctions.descriptions import status_detail
from local.stepfunctions.events import Event
from local.stepfunctions.live import Live
from local.stepfunctions.run import Run, Status

_log = logging.getLogger(__name__)

EventCallback = Callable[[str, Event], None]
StatusCallback = Callable[[dict[str, Any]], None]


class Watchers:
    """The callbacks of an engine.

    Args:
        now: the engine's time in milliseconds.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.events: list[EventCallback] = []
        self.statuses: list[StatusCallback] = []

    def published(self, live: Live) -> None:
        """Tell what is new about an execution."""
        run = live.run
        if self.events:
            self._tell_events(live)
        live.published = len(run.history)
        if live.starts_told <= run.redrives:
            live.starts_told = run.redrives + 1
            self._report(run, Status.RUNNING)
        if live.ends_told < live.starts_told and not run.open:
            live.ends_told = live.starts_told
            live.release()
            self._report(run, run.status)

    def _report(self, run: Run, status: Status) -> None:
        if run.identity.express or not self.statuses:
            return
        detail = status_detail(run, status, self._now())
        for report in self.statuses:
            _call(report, detail)

    def _tell_events(self, live: Live) -> None:
        for event in live.run.history[live.published :]:
            for tell in self.events:
                _call(tell, live.run.identity.arn, event)


def _call(callback: Callable[..., None], *arguments: object) -> None:
    try:
        callback(*arguments)
    except Exception:  # noqa: BLE001 - whatever a watcher raises
        # Who watches must not be able to stop what is watched.
        _log.exception("a callback of the engine failed")
