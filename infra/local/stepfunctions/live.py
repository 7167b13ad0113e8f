"""An execution in memory."""

from collections import deque
from typing import TYPE_CHECKING

from local.stepfunctions.commands import Incoming, Redriven
from local.stepfunctions.run import Run

if TYPE_CHECKING:
    import asyncio

    from local.stepfunctions.clock import Timer
    from local.stepfunctions.journal import Stored


class Live:
    """An execution in memory and what runs for it.

    Attributes:
        run: the execution.
        timers: the clock's timers by number.
        children: executions its tasks started and wait for, by task.
        published: how many of its events were shown to subscribers.
        starts_told: how many of its starts, redrives among them, were reported.
        ends_told: how many of its ends were.
        ended: futures that wait for its end.
        id: its number in the journal, 0 without one.
        happened: how many happenings the journal has of it.
        inbox: what happened to it and when, not yet served.
        moved: the turn after which its commands were last carried out.
        definition: the text of the definition it runs.
        revision_id: the id of that revision.
        start: its row in the journal, while that is not yet written.
        submitted: tasks whose request a service or worker took, of a rebuilt execution.
    """

    __slots__ = (
        "children",
        "definition",
        "ended",
        "ends_told",
        "happened",
        "id",
        "inbox",
        "moved",
        "published",
        "revision_id",
        "run",
        "start",
        "starts_told",
        "submitted",
        "timers",
    )

    def __init__(self, run: Run) -> None:
        self.run = run
        self.timers: dict[int, Timer] = {}
        self.children: dict[int, str] = {}
        self.published = 0
        self.starts_told = 0
        self.ends_told = 0
        self.ended: list[asyncio.Future[None]] = []
        self.id = 0
        self.happened = 0
        self.inbox: deque[tuple[Incoming, int]] = deque()
        self.moved = -2  # long ago: it is not being served
        self.definition = ""
        self.revision_id = ""
        self.start: tuple[Stored, str] | None = None
        self.submitted: set[int] = set()

    def release(self) -> None:
        """Wake who waits for the end."""
        for future in self.ended:
            if not future.done():
                future.set_result(None)
        self.ended.clear()


Happening = tuple[Live, Incoming, int]
"""An execution, what happened to it, and when, in milliseconds."""


def counts(live: Live, incoming: Incoming) -> bool:
    """Whether something that happened still means anything to the execution."""
    return live.run.open or isinstance(incoming, Redriven)
