"""Garbage collection for processes that keep much and make few cycles: the engine and the stack."""

import gc
from typing import Final

THRESHOLDS: Final = (100_000, 50, 1_000)
"""The interpreter's own go through every history that is kept for each few thousand new objects:
a fifth of the engine's speed at 64 executions at once, and less the more there are."""


def collect_less() -> None:
    """Look for cycles less often; reference counts free everything else as before."""
    gc.set_threshold(*THRESHOLDS)
