"""Entry point of `autoops`: answers Ctrl-C from the first moment, while the rest still loads."""

import os
import signal
import sys
from types import FrameType
from typing import Final

from local.memory import collect_less

INTERRUPTED: Final = 130


def main() -> None:
    """Run the command line; until something is started there is nothing to clean up."""
    signal.signal(signal.SIGINT, _leave)
    collect_less()
    from local.cli import app

    app()


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.stderr.write("Stopped.\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
