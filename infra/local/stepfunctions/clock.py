"""Time for the engine: the laptop's real time, or a virtual time that tests move by hand."""

import asyncio
import heapq
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Forget the call; does nothing when it was made already."""
        ...


class Clock(Protocol):
    """What the engine asks of time. All moments are whole milliseconds since 1970, UTC."""

    def now(self) -> int:
        """The present moment in milliseconds."""
        ...

    def call_at(self, due: int, callback: Callable[[], object]) -> Timer:
        """Call back once, at `due` milliseconds or as soon as possible after it."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a task that sleeps here takes virtual time on a virtual clock."""
        ...


class _Timer:
    __slots__ = ("callback", "due", "order")

    def __init__(self, due: int, order: int, callback: Callable[[], object]) -> None:
        self.due = due
        self.order = order
        self.callback: Callable[[], object] | None = callback

    def __lt__(self, other: "_Timer") -> bool:
        return (self.due, self.order) < (other.due, other.order)

    def cancel(self) -> None:
        self.callback = None


class _Timers:
    """Calls that are due later, in the order they are due."""

    def __init__(self) -> None:
        self._heap: list[_Timer] = []
        self._order = 0

    def add(self, due: int, callback: Callable[[], object]) -> _Timer:
        self._order += 1
        timer = _Timer(due, self._order, callback)
        heapq.heappush(self._heap, timer)
        return timer

    def next_due(self) -> int | None:
        while self._heap and self._heap[0].callback is None:
            heapq.heappop(self._heap)
        return self._heap[0].due if self._heap else None

    def call_due(self, moment: int) -> None:
        while (due := self.next_due()) is not None and due <= moment:
            timer = heapq.heappop(self._heap)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()


class RealClock:
    """The time of this machine, on the running event loop.

    All timers share one alarm of the loop: most are cancelled long before they are due.
    """

    def __init__(self) -> None:
        self._timers = _Timers()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_due = 0

    def now(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def call_at(self, due: int, callback: Callable[[], object]) -> Timer:
        """Call back on the running loop."""
        timer = self._timers.add(due, callback)
        if self._alarm is None or due < self._alarm_due:
            self._set_alarm(due)
        return timer

    def _set_alarm(self, due: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        delay = max(0.0, (due - self.now()) / 1000)
        self._alarm = asyncio.get_running_loop().call_later(delay, self._ring)
        self._alarm_due = due

    def _ring(self) -> None:
        self._alarm = None
        self._timers.call_due(self.now())
        due = self._timers.next_due()
        if due is not None:
            self._set_alarm(due)

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that stands still until it is moved; 24 hours pass in microseconds.

    Args:
        start: the moment it shows at first; 1 December 2026, 12:00 UTC unless given.
    """

    def __init__(self, start: datetime | None = None) -> None:
        start = start or datetime(2026, 12, 1, 12, tzinfo=UTC)
        self._now = round(start.timestamp() * 1000)
        self._timers = _Timers()
        self.sleepers = 0

    def now(self) -> int:
        """The virtual moment in milliseconds."""
        return self._now

    def call_at(self, due: int, callback: Callable[[], object]) -> Timer:
        """Call back when the clock is moved to `due` or past it; equal moments in call order."""
        return self._timers.add(max(due, self._now), callback)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved on by so many seconds."""
        woken = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                self.sleepers -= 1
                woken.set_result(None)

        timer = self.call_at(self._now + round(seconds * 1000), wake)
        self.sleepers += 1
        try:
            await woken
        except asyncio.CancelledError:
            if not woken.done() or woken.cancelled():
                self.sleepers -= 1
            timer.cancel()
            raise

    def next_due(self) -> int | None:
        """The moment of the next call, or None when nothing waits."""
        return self._timers.next_due()

    def move_to(self, moment: int) -> None:
        """Show `moment` and make every call that is due by then, in order."""
        self._now = max(self._now, moment)
        self._timers.call_due(self._now)


def iso(moment: int) -> str:
    """A moment as the context object has it, such as 2026-12-01T12:00:00.000Z."""
    stamp = datetime.fromtimestamp(moment // 1000, UTC)
    return f"{stamp:%Y-%m-%dT%H:%M:%S}.{moment % 1000:03d}Z"
