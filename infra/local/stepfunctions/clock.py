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

    def call_at(self, due: int, callback: Callable[[], None]) -> Timer:
        """Call back once, at `due` milliseconds or as soon as possible after it."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a task that sleeps here takes virtual time on a virtual clock."""
        ...


class RealClock:
    """The time of this machine, on the running event loop."""

    def now(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def call_at(self, due: int, callback: Callable[[], None]) -> Timer:
        """Call back on the running loop."""
        delay = max(0.0, (due - self.now()) / 1000)
        return asyncio.get_running_loop().call_later(delay, callback)

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await asyncio.sleep(seconds)


class _VirtualTimer:
    __slots__ = ("callback", "due", "order")

    def __init__(self, due: int, order: int, callback: Callable[[], None]) -> None:
        self.due = due
        self.order = order
        self.callback: Callable[[], None] | None = callback

    def __lt__(self, other: "_VirtualTimer") -> bool:
        return (self.due, self.order) < (other.due, other.order)

    def cancel(self) -> None:
        self.callback = None


class VirtualClock:
    """A clock that stands still until it is moved; 24 hours pass in microseconds.

    Args:
        start: the moment it shows at first; 1 December 2026, 12:00 UTC unless given.
    """

    def __init__(self, start: datetime | None = None) -> None:
        start = start or datetime(2026, 12, 1, 12, tzinfo=UTC)
        self._now = round(start.timestamp() * 1000)
        self._timers: list[_VirtualTimer] = []
        self._order = 0
        self.sleepers = 0

    def now(self) -> int:
        """The virtual moment in milliseconds."""
        return self._now

    def call_at(self, due: int, callback: Callable[[], None]) -> Timer:
        """Call back when the clock is moved to `due` or past it; equal moments in call order."""
        self._order += 1
        timer = _VirtualTimer(max(due, self._now), self._order, callback)
        heapq.heappush(self._timers, timer)
        return timer

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
        while self._timers and self._timers[0].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0].due if self._timers else None

    def move_to(self, moment: int) -> None:
        """Show `moment` and make every call that is due by then, in order."""
        self._now = max(self._now, moment)
        while (due := self.next_due()) is not None and due <= self._now:
            timer = heapq.heappop(self._timers)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()


def iso(moment: int) -> str:
    """A moment as the context object has it, such as 2026-12-01T12:00:00.000Z."""
    stamp = datetime.fromtimestamp(moment // 1000, UTC)
    return f"{stamp:%Y-%m-%dT%H:%M:%S}.{moment % 1000:03d}Z"
