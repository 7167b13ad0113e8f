"""The workers of one version of one function."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from local.lambdas.failures import stopping
from local.lambdas.worker import Worker

Spawn = Callable[[Callable[[Worker], None]], Awaitable[Worker]]


class Pool:
    """Grows on demand, hands a free worker to whoever waits longest, forgets the dead.

    An invocation that finds no free worker starts one and takes whichever is free first, the new
    one or an old one: a burst of short calls does not wait for a start.

    Args:
        spawn: starts a worker, given what to call when it ends.
        limit: processes at most; more invocations than that wait.
    """

    def __init__(self, spawn: Spawn, limit: int) -> None:
        self._spawn = spawn
        self._limit = limit
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._waiting: deque[asyncio.Future[Worker]] = deque()
        self._starting: set[asyncio.Task[None]] = set()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that are ready or at work."""
        return [worker.pid for worker in self._workers]

    def take(self) -> "asyncio.Future[Worker]":
        """A worker to use and to give back.

        The future raises InitFailedError or TimeoutError when the worker started for it did not
        come up.
        """
        taken: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        if self._idle:
            taken.set_result(self._idle.pop())
            return taken
        self._waiting.append(taken)
        if len(self._starting) < len(self._waiting):
            self._grow()
        return taken

    async def warm(self) -> None:
        """Have a worker; an invocation that comes meanwhile takes it and starts no other."""
        if not self._workers and not self._starting:
            self._grow()
        if self._starting:
            await asyncio.wait(set(self._starting))

    def give_back(self, worker: Worker) -> None:
        """The worker is free again; one that died is forgotten."""
        if worker.exit_code is not None:
            return
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(worker)
                return
        self._idle.append(worker)

    def close(self) -> None:
        """Refuse whoever waits and start nothing more."""
        self._limit = 0
        for task in self._starting:
            task.cancel()
        self._refuse_all(stopping())

    def _grow(self) -> None:
        if len(self._workers) + len(self._starting) >= self._limit:
            return
        task = asyncio.create_task(self._start())
        self._starting.add(task)
        task.add_done_callback(self._started)

    def _started(self, task: "asyncio.Task[None]") -> None:
        self._starting.discard(task)
        if len(self._starting) < len(self._waiting):
            self._grow()

    async def _start(self) -> None:
        try:
            worker = await self._spawn(self._lost)
        except Exception as problem:  # noqa: BLE001 - whoever waits for the worker hears of it
            self._refuse_one(problem)
        else:
            self._workers.append(worker)
            self.give_back(worker)

    def _lost(self, worker: Worker) -> None:
        if worker in self._idle:
            self._idle.remove(worker)
        if worker in self._workers:
            self._workers.remove(worker)
            if self._waiting:
                self._grow()

    def _refuse_one(self, problem: Exception) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(problem)
                return

    def _refuse_all(self, problem: Exception) -> None:
        while self._waiting:
            self._refuse_one(problem)
