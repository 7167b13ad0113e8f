"""The stack's side of a zygote: starts it, asks it for workers, hears when they end."""

import array
import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from local.constants import REGION
from local.lambdas.functions import EXECUTION_ENVIRONMENT, ISOLATION, Preload
from local.lambdas.logs import LogPipe

PROGRAM: Final = Path(__file__).with_name("zygote.py")


class ZygoteGoneError(Exception):
    """The process that forks workers ended."""


class Zygote:
    """The stack's end of one process with its imports done, from which workers are forked.

    Args:
        channel: the socket to the process.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._pids: deque[asyncio.Future[int]] = deque()
        self._exits: dict[int, Callable[[int], None]] = {}
        self._text = b""
        self._channel = channel
        self._channel.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._channel.fileno(), self._receive)

    @property
    def alive(self) -> bool:
        """Whether workers can be had from it."""
        return self._channel.fileno() >= 0

    def derive(self, preload: Preload) -> "Zygote":
        """A zygote forked from this one that imports more.

        Raises:
            ZygoteGoneError: this one ended.
        """
        ours, theirs = socket.socketpair()
        derived = Zygote(ours)
        with theirs:
            self._order({"preload": imports_of(preload)}, theirs.fileno())
        return derived

    async def fork(
        self, environment: Mapping[str, str], log: int, on_exit: Callable[[int], None]
    ) -> int:
        """Start a worker; returns its process id.

        Args:
            environment: everything in the worker's environment.
            log: file descriptor that becomes its standard output and error.
            on_exit: called once with the exit code, negative for a signal.

        Raises:
            ZygoteGoneError: the zygote ended first.
        """
        pid = await self._order({"environment": dict(environment)}, log)
        self._exits[pid] = on_exit
        return pid

    def _order(self, order: Mapping[str, object], descriptor: int) -> "asyncio.Future[int]":
        if not self.alive:
            raise ZygoteGoneError
        message = json.dumps(order).encode() + b"\n"
        self._channel.setblocking(True)  # a few KB to a process that reads: it does not wait
        try:
            ancillary = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))
            sent = self._channel.sendmsg([message], [ancillary])
            self._channel.sendall(message[sent:])
        except OSError as problem:
            raise ZygoteGoneError from problem
        finally:
            self._channel.setblocking(False)
        waiting: asyncio.Future[int] = self._loop.create_future()
        waiting.add_done_callback(_looked_at)
        self._pids.append(waiting)
        return waiting

    def _receive(self) -> None:
        try:
            data = self._channel.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))

    def _hear(self, message: dict[str, int]) -> None:
        if "exit" not in message:
            self._forked(self._pids.popleft(), message["pid"])
            return
        # Behind the future that names the pid: a worker may end before its starter runs again.
        self._loop.call_soon(self._ended, message["pid"], message["exit"])

    @staticmethod
    def _forked(waiting: "asyncio.Future[int]", pid: int) -> None:
        if waiting.done():  # cancelled: nobody will use this worker
            kill(pid)
        else:
            waiting.set_result(pid)

    def _ended(self, pid: int, code: int) -> None:
        on_exit = self._exits.pop(pid, None)
        if on_exit is not None:
            on_exit(code)

    def close(self) -> None:
        """Let the zygote end, and kill its workers."""
        if not self.alive:
            return
        self._loop.remove_reader(self._channel.fileno())
        self._channel.close()
        while self._pids:
            waiting = self._pids.popleft()
            if not waiting.done():
                waiting.set_exception(ZygoteGoneError())
        for pid in list(self._exits):
            kill(pid)
            self._loop.call_soon(self._ended, pid, -signal.SIGKILL)


class RootZygote(Zygote):
    """A zygote started as a program; others may derive from it.

    Args:
        preload: what it imports.
        task_root: folder with the functions' code.
        inherited: variables for Python itself, such as LD_LIBRARY_PATH; workers do not get them.
        log: receives what this zygote and those derived from it print themselves.
    """

    def __init__(
        self,
        preload: Preload,
        task_root: Path,
        inherited: Mapping[str, str],
        log: Callable[[str], None],
    ) -> None:
        self._log = LogPipe(log)
        ours, theirs = socket.socketpair()
        with theirs:
            arguments = [str(theirs.fileno()), str(task_root), json.dumps(imports_of(preload))]
            self._process = self._start(theirs.fileno(), arguments, inherited)
        super().__init__(ours)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def stop(self) -> None:
        """End it and every worker; returns when they are gone."""
        self.close()
        self._process.kill()  # it may be in the middle of its imports; nothing in it needs saving
        await asyncio.to_thread(self._process.wait)
        self._log.drain()
        self._log.close()

    def _start(
        self, channel: int, arguments: list[str], inherited: Mapping[str, str]
    ) -> "subprocess.Popen[bytes]":
        environment = {
            **inherited,
            **ISOLATION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EXECUTION_ENV": EXECUTION_ENVIRONMENT,
            # awslambdaric polls on a new thread for each invocation: 5 ms with glibc's arenas, 1 ms
            # without them.
            "MALLOC_ARENA_MAX": "1",
            "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",
            "TZ": ":UTC",
        }
        with self._log.writer() as log:
            return subprocess.Popen(  # noqa: S603 - our own program under our own interpreter
                [sys.executable, "-P", str(PROGRAM), *arguments],
                pass_fds=(channel,),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C in the terminal is the stack's to handle
            )


def imports_of(preload: Preload) -> dict[str, tuple[str, ...]]:
    """What the zygote's own `preload` function takes."""
    return {
        "modules": preload.modules,
        "packages": preload.packages,
        "clients": preload.clients,
    }


def _looked_at(waiting: "asyncio.Future[int]") -> None:
    if not waiting.cancelled():
        waiting.exception()  # whoever derives a zygote hears of its end through the channel


def kill(pid: int) -> None:
    """Kill a worker and what it started; nothing happens where it is gone already."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
