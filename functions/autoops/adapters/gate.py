"""The gate over AWS."""

from functools import cache

from autoops.adapters.admissions import admissions
from autoops.adapters.clock import system_clock
from autoops.adapters.dynamodb import ledger
from autoops.adapters.events import event_bus
from autoops.adapters.stepfunctions import workflows
from autoops.config import settings
from autoops.gate import Gate


@cache
def gate() -> Gate:
    """The gate of this process."""
    return Gate(
        admissions=admissions(),
        ledger=ledger(),
        workflows=workflows(),
        events=event_bus(),
        clock=system_clock(),
        lease=settings().lease,
    )
