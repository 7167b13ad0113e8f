"""One running instance of a function: its process, its Runtime API and its log."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

from local.invoke import InvokeResult
from local.lambdas.failures import (
    RESPONSE_BYTES,
    InitFailedError,
    exited,
    failed,
    response_too_large,
    timed_out,
)
from local.lambdas.functions import LambdaFunction
from local.lambdas.launcher import Zygote, kill
from local.lambdas.logs import LogPipe
from local.lambdas.runtime_api import Invocation, RuntimeApi

# Lambda gives a function this long to initialise before its own timeout counts.
INIT_SECONDS: Final = 10


class Worker:
    """One process that serves one invocation at a time.

    Attributes:
        pid: process id, 0 until it is forked.
        exit_code: None while it runs.
    """

    def __init__(
        self,
        function: LambdaFunction,
        version: str,
        log: Callable[[str], None],
        on_exit: "Callable[[Worker], None]",
    ) -> None:
        self.pid = 0
        self.exit_code: int | None = None
        self._function = function
        self._version = version
        self._on_exit = on_exit
        self._sink = log
        self._lines: list[str] = []
        self._log = LogPipe(self._hear)
        self._api = RuntimeApi(self)
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._answer: asyncio.Future[InvokeResult] | None = None
        self._request_id = ""
        self._init_error: bytes | None = None

    async def start(self, zygote: Zygote, environment: Mapping[str, str]) -> None:
        """Fork the process and wait until it asks for work.

        Raises:
            InitFailedError: it reported an error or ended instead.
            TimeoutError: it did neither in time.
            ZygoteGoneError: there is no process to fork from.
        """
        address = await self._api.start()
        full = {**environment, "AWS_LAMBDA_RUNTIME_API": address}
        try:
            with self._log.writer() as log:
                self.pid = await zygote.fork(full, log, self._exited)
            async with asyncio.timeout(max(INIT_SECONDS, self._function.timeout)):
                await asyncio.shield(self._ready)
        except BaseException:
            self.kill()
            if not self.pid:
                self._release()
            raise

    async def run(self, invocation: Invocation) -> tuple[InvokeResult, list[str]]:
        """Run one invocation to its end; also the lines it logged."""
        self._lines = [f"START RequestId: {invocation.request_id} Version: {self._version}"]
        self._sink(self._lines[0])
        begin = time.perf_counter()
        result = await self._answered(invocation)
        self._log.drain()
        lasted = (time.perf_counter() - begin) * 1000
        self._hear(f"END RequestId: {invocation.request_id}")
        self._hear(f"REPORT RequestId: {invocation.request_id}\tDuration: {lasted:.2f} ms")
        return result, self._lines

    async def _answered(self, invocation: Invocation) -> InvokeResult:
        if self.exit_code is not None:
            return exited(invocation.request_id, self.exit_code, self._version)
        self._answer = asyncio.get_running_loop().create_future()
        self._request_id = invocation.request_id
        self._api.submit(invocation)
        try:
            async with asyncio.timeout(self._function.timeout):
                return await self._answer
        except TimeoutError:
            self._answer = None
            self.kill()
            await asyncio.shield(self._ended)
            return timed_out(invocation.request_id, self._function.timeout, self._version)

    def kill(self) -> None:
        """End the process at once, with whatever it started."""
        if self.pid and self.exit_code is None:
            kill(self.pid)

    def runtime_ready(self) -> None:
        """The handler is loaded."""
        if not self._ready.done():
            self._ready.set_result(None)

    def runtime_answered(self, request_id: str, payload: bytes) -> None:
        """The function returned."""
        if len(payload) > RESPONSE_BYTES:
            self._give(request_id, response_too_large(len(payload), self._version))
        else:
            self._give(request_id, InvokeResult(200, payload, None, self._version))

    def runtime_failed(self, request_id: str, payload: bytes) -> None:
        """The function raised."""
        self._give(request_id, failed(payload, self._version))

    def runtime_init_failed(self, payload: bytes) -> None:
        """The handler cannot be loaded; the process ends next."""
        self._init_error = payload

    def _give(self, request_id: str, result: InvokeResult) -> None:
        if self._answer is None or self._answer.done() or request_id != self._request_id:
            return
        self._answer.set_result(result)

    def _exited(self, code: int) -> None:
        self.exit_code = code
        if not self._ready.done():
            self._ready.set_exception(InitFailedError(self._init_error, code))
            self._ready.exception()  # read here: after a timeout nobody else looks
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(exited(self._request_id, code, self._version))
        self._release()
        self._on_exit(self)

    def _release(self) -> None:
        self._log.drain()
        self._log.close()
        self._api.close()
        if not self._ended.done():
            self._ended.set_result(None)

    def _hear(self, line: str) -> None:
        self._lines.append(line)
        self._sink(line)
