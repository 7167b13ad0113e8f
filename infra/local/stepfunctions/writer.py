"""Writing the journal beside the loop: a slow disk holds up nobody but who waits for it."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from local.stepfunctions.journal import Journal, Transaction

_QUICK_SECONDS: Final = 0.001
"""A disk that answers sooner is not worth a thread: handing over and back takes as long."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Entry:
    transaction: Transaction
    written: Callable[[], None]


class Writer:
    """Writes transactions in order; all that wait while one is written share the next commit.

    Commits happen on the loop's thread as long as the disk is quick, and beside it otherwise.
    Nobody is called back before the commit.

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
        self._calling = False
        self._quick = False
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
        if not self._calling:
            self._go_on()

    def _go_on(self) -> None:
        while self._writing is None and not self._stopped:
            if self._journal.full:
                self._in_thread(self._journal.checkpoint, [])
            elif self._waiting:
                entries, self._waiting = self._waiting, []
                self._write(entries)
            else:
                return

    def _write(self, entries: list[_Entry]) -> None:
        try:
            staged = self._journal.stage([entry.transaction for entry in entries])
            beside = staged and not self._quick
            if staged and not beside:
                self._commit()
        except sqlite3.Error as error:
            self._broke(error)
            return
        if beside:
            self._in_thread(self._commit, entries)
        else:
            self._written(entries)

    def _commit(self) -> None:
        began = time.perf_counter()
        self._journal.commit()
        self._quick = time.perf_counter() - began < _QUICK_SECONDS

    def _in_thread(self, work: Callable[[], None], entries: list[_Entry]) -> None:
        self._writing = asyncio.get_running_loop().run_in_executor(self._thread, work)
        self._writing.add_done_callback(lambda done: self._done(done, entries))

    def _done(self, done: "asyncio.Future[None]", entries: list[_Entry]) -> None:
        self._writing = None
        if self._stopped or done.cancelled():
            return
        error = done.exception()
        if error is not None:
            self._broke(error)
            return
        self._written(entries)
        self._go_on()

    def _written(self, entries: list[_Entry]) -> None:
        self._calling = True
        try:
            for entry in entries:
                entry.written()
        except Exception:
            # What is on disk was not acted upon: only a restart puts that right.
            _log.critical("the engine failed after a write", exc_info=True)
            self.stop()
            self._failed()
            raise
        finally:
            self._calling = False

    def _broke(self, error: BaseException) -> None:
        _log.critical("the journal cannot be written", exc_info=error)
        self.stop()
        self._failed()

    def stop(self) -> None:
        """Write nothing more and call nobody back: what waits is lost."""
        self._stopped = True
        self._waiting.clear()

    def close(self) -> None:
        """End the thread; a write that has begun is finished."""
        self.stop()
        self._thread.shutdown(wait=True)
