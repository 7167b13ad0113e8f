"""Writing the journal beside the loop: what is on its way to the disk holds up nobody else."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from local.stepfunctions.journal import Journal, Transaction

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Entry:
    transaction: Transaction
    written: Callable[[], None]


class Writer:
    """Writes transactions in order; all that wait while one is written share the next commit.

    Args:
        journal: where to write.
        failed: called when the journal cannot be written: nothing after that may count.
    """

    def __init__(self, journal: Journal, failed: Callable[[], None]) -> None:
        self._journal = journal
        self._failed = failed
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._waiting: list[_Entry] = []
        self._writing: asyncio.Future[None] | None = None
        self._stopped = False

    @property
    def busy(self) -> bool:
        """Whether something is not yet on disk."""
        return self._writing is not None or bool(self._waiting)

    def add(self, transaction: Transaction, written: Callable[[], None]) -> None:
        """Write a transaction, then call back on the loop."""
        if self._stopped:
            return
        self._waiting.append(_Entry(transaction, written))
        if self._writing is None:
            self._next()

    def _next(self) -> None:
        entries, self._waiting = self._waiting, []
        transactions = [entry.transaction for entry in entries]
        loop = asyncio.get_running_loop()
        self._writing = loop.run_in_executor(self._thread, self._journal.write, transactions)
        self._writing.add_done_callback(lambda done: self._done(done, entries))

    def _done(self, done: "asyncio.Future[None]", entries: list[_Entry]) -> None:
        self._writing = None
        if self._stopped or done.cancelled():
            return
        error = done.exception()
        if error is not None:
            _log.critical("the journal cannot be written", exc_info=error)
            self.stop()
            self._failed()
            return
        try:
            for entry in entries:
                entry.written()
        except Exception:
            # What is on disk was not acted upon: only a restart puts that right.
            _log.critical("the engine failed after a write", exc_info=True)
            self.stop()
            self._failed()
            raise
        if self._waiting and self._writing is None:
            self._next()

    def stop(self) -> None:
        """Write nothing more and call nobody back: what waits is lost."""
        self._stopped = True
        self._waiting.clear()

    def close(self) -> None:
        """End the thread; a write that has begun is finished."""
        self.stop()
        self._thread.shutdown(wait=True)
