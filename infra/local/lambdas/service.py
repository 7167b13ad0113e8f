"""Lambda on the laptop: worker processes on the real awslambdaric."""

import asyncio
import json
import secrets
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from local.constants import LAMBDA_ASYNC_BYTES, LAMBDA_SYNC_BYTES
from local.invoke import InvokeRefusedError, InvokeResult
from local.lambdas import failures
from local.lambdas.failures import InitFailedError
from local.lambdas.functions import (
    LambdaFunction,
    Preload,
    Qualified,
    qualified,
    worker_environment,
)
from local.lambdas.launcher import RootZygote, Zygote, ZygoteGoneError
from local.lambdas.pool import Pool
from local.lambdas.runtime_api import Invocation
from local.lambdas.worker import Worker

Log = Callable[[str, str], None]
AsyncFailure = Callable[[str, bytes, InvokeResult], None]
# Lambda waits a minute before the first retry of an event and two before the second.
EVENT_RETRIES: Final = (60.0, 120.0)
WORKERS: Final = 16


@dataclass(frozen=True)
class Settings:
    """How the laptop runs functions.

    Attributes:
        task_root: folder with the code.
        endpoint_url: where the functions' SDKs find AWS.
        inherited: variables that Python itself needs to start, such as LD_LIBRARY_PATH.
        workers: processes for one version of one function, at most.
        event_retries: seconds before each retry of an asynchronous invocation.
    """

    task_root: Path
    endpoint_url: str | None = None
    inherited: Mapping[str, str] | None = None
    workers: int = WORKERS
    event_retries: tuple[float, ...] = EVENT_RETRIES


class Lambdas:
    """Runs functions by ARN, name, version ARN or alias ARN, each in processes of its own.

    Args:
        functions: what can be invoked.
        settings: where the code is and how much of it runs at once.
        log: receives (function name, line) of whatever functions print.
        on_event_failure: receives (function name, payload, last result) of an asynchronous
            invocation that failed every time.
    """

    def __init__(
        self,
        functions: Iterable[LambdaFunction],
        settings: Settings,
        *,
        log: Log = lambda _name, _line: None,
        on_event_failure: AsyncFailure = lambda _name, _payload, _result: None,
    ) -> None:
        self.functions = {function.name: function for function in functions}
        self._settings = settings
        self._log = log
        self._on_event_failure = on_event_failure
        self._zygotes: dict[Preload, Zygote] = {}
        self._roots: list[RootZygote] = []
        self._pools: dict[Qualified, Pool] = {}
        self._running: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[object]] = set()
        self._stopped = False

    async def start(self) -> None:
        """Begin the imports that functions share; returns at once."""
        for function in self.functions.values():
            self._zygote(function.preload)

    async def stop(self) -> None:
        """End every worker; what is under way is refused. Nothing is left behind."""
        self._stopped = True
        for pool in self._pools.values():
            pool.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for zygote in self._zygotes.values():
            zygote.close()
        await asyncio.gather(*(root.stop() for root in self._roots))

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        """Run the function with a JSON payload; it goes on when the caller is cancelled.

        Raises:
            InvokeRefusedError: the service refused; the function did not run.
        """
        if asynchronous:
            return self._accept_event(function_arn, payload)
        result, _ = await self.invoke_with_log(function_arn, payload)
        return result

    async def invoke_with_log(
        self, function_arn: str, payload: bytes
    ) -> tuple[InvokeResult, list[str]]:
        """As `invoke`, with the lines that the invocation logged.

        Raises:
            InvokeRefusedError: the service refused; the function did not run.
        """
        target = self.resolve(function_arn)
        check_payload(payload, LAMBDA_SYNC_BYTES, "InvokeFunction")
        task = asyncio.ensure_future(self._run(target, payload))
        self._keep(task)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise failures.stopping() from None
            raise

    async def warm(self, function_arn: str) -> None:
        """Have one worker ready; one that does not come up is reported by the next invocation."""
        await self._pool(self.resolve(function_arn)).warm()

    def workers(self, name: str) -> list[int]:
        """Process ids of a function's workers, of all versions."""
        return [
            pid for target, pool in self._pools.items() if target.name == name for pid in pool.pids
        ]

    @property
    def zygotes(self) -> list[int]:
        """Process ids of what workers are forked from, without what derives from these."""
        return [root.pid for root in self._roots if root.alive]

    def resolve(self, reference: str) -> Qualified:
        """The function and version behind an ARN, name, version or alias.

        Raises:
            InvokeRefusedError: there is none.
        """
        target = qualified(reference)
        if target.name not in self.functions:
            raise failures.function_not_found(reference)
        return target

    async def _run(self, target: Qualified, payload: bytes) -> tuple[InvokeResult, list[str]]:
        function = self.functions[target.name]
        if self._stopped:
            raise failures.stopping()
        if self._running[target.name] >= function.concurrency:
            raise failures.too_many_requests()
        self._running[target.name] += 1
        request_id = str(uuid.uuid4())
        try:
            return await self._run_on_worker(target, request_id, payload)
        except InitFailedError as problem:
            return problem.result(request_id, target.version), []
        except TimeoutError:
            return failures.timed_out(request_id, function.timeout, target.version), []
        except ZygoteGoneError:
            raise InvokeRefusedError(
                "Lambda.ServiceException", "The process that starts functions ended."
            ) from None
        finally:
            self._running[target.name] -= 1

    async def _run_on_worker(
        self, target: Qualified, request_id: str, payload: bytes
    ) -> tuple[InvokeResult, list[str]]:
        pool = self._pool(target)
        worker = await pool.take()
        try:
            return await worker.run(self._invocation(target, request_id, payload))
        finally:
            pool.give_back(worker)

    def _invocation(self, target: Qualified, request_id: str, payload: bytes) -> Invocation:
        function = self.functions[target.name]
        suffix = "" if target.version == "$LATEST" else f":{target.version}"
        trace = f"Root=1-{int(time.time()):08x}-{secrets.token_hex(12)};Sampled=0"
        deadline = int((time.time() + function.timeout) * 1000)
        return Invocation(request_id, function.arn + suffix, deadline, trace, payload)

    def _pool(self, target: Qualified) -> Pool:
        if target not in self._pools:
            limit = min(self._settings.workers, self.functions[target.name].concurrency)

            async def spawn(on_exit: Callable[[Worker], None]) -> Worker:
                return await self._spawn(target, on_exit)

            self._pools[target] = Pool(spawn, limit)
        return self._pools[target]

    async def _spawn(self, target: Qualified, on_exit: Callable[[Worker], None]) -> Worker:
        function = self.functions[target.name]
        environment = worker_environment(
            function,
            version=target.version,
            instance=secrets.token_hex(16),
            task_root=self._settings.task_root,
            endpoint_url=self._settings.endpoint_url,
        )
        worker = Worker(
            function, target.version, lambda line: self._log(function.name, line), on_exit
        )
        await worker.start(self._zygote(function.preload), environment)
        return worker

    def _zygote(self, preload: Preload) -> Zygote:
        zygote = self._zygotes.get(preload)
        if zygote is None or not zygote.alive:
            derives = preload.base is not None
            zygote = self._derived(preload) if derives else self._root(preload)
            self._zygotes[preload] = zygote
        return zygote

    def _derived(self, preload: Preload) -> Zygote:
        return self._zygote(preload.base or Preload()).derive(preload)

    def _root(self, preload: Preload) -> Zygote:
        root = RootZygote(
            preload,
            self._settings.task_root,
            self._settings.inherited or {},
            lambda line: self._log("zygote", line),
        )
        self._roots.append(root)
        return root

    def _accept_event(self, function_arn: str, payload: bytes) -> InvokeResult:
        target = self.resolve(function_arn)
        check_payload(payload, LAMBDA_ASYNC_BYTES, "InvokeFunction")
        self._keep(asyncio.ensure_future(self._deliver(target, payload)))
        return InvokeResult(202, b"", None, target.version)

    async def _deliver(self, target: Qualified, payload: bytes) -> None:
        result = await self._attempt(target, payload)
        retries = self.functions[target.name].event_retries
        for delay in self._settings.event_retries[:retries]:
            if result.function_error is None:
                return
            await asyncio.sleep(delay)
            result = await self._attempt(target, payload)
        if result.function_error is not None:
            self._on_event_failure(target.name, payload, result)

    async def _attempt(self, target: Qualified, payload: bytes) -> InvokeResult:
        try:
            result, _ = await self._run(target, payload)
        except InvokeRefusedError as problem:
            body = failures.error_object(problem.error, problem.cause)
            return replace(failures.failed(body, target.version), status_code=500)
        return result

    def _keep(self, task: "asyncio.Task[object] | asyncio.Future[object]") -> None:
        if isinstance(task, asyncio.Task):
            self._tasks.add(task)
            task.add_done_callback(self._forget)

    def _forget(self, task: "asyncio.Task[object]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may have been cancelled; nobody else looks


def check_payload(payload: bytes, limit: int, operation: str) -> None:
    """Refuse what Lambda refuses before it looks for a worker.

    Raises:
        InvokeRefusedError: too large, or no JSON text.
    """
    if len(payload) > limit:
        raise failures.request_too_large(limit, operation)
    try:
        json.loads(payload)
    except ValueError as problem:
        raise failures.not_json(str(problem)) from None
