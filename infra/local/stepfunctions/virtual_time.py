"""Moving the virtual clock: every timer fires at its own moment, and what follows happens then."""

from collections.abc import Awaitable, Callable

from local.stepfunctions.clock import Clock, VirtualClock


async def pass_time(
    clock: Clock,
    target: int,
    settle: Callable[[], Awaitable[None]],
    going: Callable[[], bool] = lambda: True,
) -> None:
    """Move a virtual clock from timer to timer.

    Args:
        clock: the clock.
        target: the moment to stop at, in milliseconds.
        settle: lets everything happen that can happen without time passing.
        going: asked before each step; False ends it.

    Raises:
        TypeError: the clock is not virtual.
    """
    virtual = virtual_clock(clock)
    await settle()
    while going() and (due := virtual.next_due()) is not None and due <= target:
        virtual.move_to(due)
        await settle()


def virtual_clock(clock: Clock) -> VirtualClock:
    """The clock itself.

    Raises:
        TypeError: it is not virtual.
    """
    if not isinstance(clock, VirtualClock):
        raise TypeError("only an engine with a VirtualClock can move its time")
    return clock
