"""What a worker prints, line by line, and never to the terminal."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator

CHUNK = 65536


class LogPipe:
    """A pipe whose writer is a worker's standard output and error.

    Args:
        line: called with each line, without its newline, as it comes.
    """

    def __init__(self, line: Callable[[str], None]) -> None:
        self._line = line
        self._rest = b""
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._read, self.drain)

    @contextlib.contextmanager
    def writer(self) -> Iterator[int]:
        """The writing end, to be given away inside the block; closed here after it."""
        try:
            yield self._write
        finally:
            os.close(self._write)
            self._write = -1

    def drain(self) -> None:
        """Take what is there now."""
        while self._read >= 0:
            try:
                data = os.read(self._read, CHUNK)
            except BlockingIOError:
                return
            if not data:
                self.close()
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._line(line.decode("utf-8", "replace"))

    def close(self) -> None:
        """Give out the unfinished line and release the pipe."""
        if self._read < 0:
            return
        self._loop.remove_reader(self._read)
        os.close(self._read)
        self._read = -1
        if self._write >= 0:
            os.close(self._write)
        if self._rest:
            self._line(self._rest.decode("utf-8", "replace"))
            self._rest = b""
