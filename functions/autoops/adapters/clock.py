"""The real time."""

from datetime import UTC, datetime


class SystemClock:
    """`autoops.ports.Clock` on the system's clock."""

    def now(self) -> datetime:
        """See `Clock.now`."""
        return datetime.now(UTC)  # noqa: TID251  # the clock's one home


def system_clock() -> SystemClock:
    """The clock of this process."""
    return SystemClock()
