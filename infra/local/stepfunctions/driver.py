"""The loop around `advance`: carries out what executions ask for and tells them what happened."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from local.stepfunctions.advance import advance
from local.stepfunctions.clock import Clock, VirtualClock
from local.stepfunctions.commands import (
    CancelTask,
    CancelTimer,
    Command,
    Incoming,
    RunMap,
    RunTask,
    SetTimer,
    TaskFailed,
    TaskSubmitted,
    TaskSucceeded,
    TimerFired,
)
from local.stepfunctions.errors import TASK_FAILED, EngineKilledError, StatesError
from local.stepfunctions.journal import Journal, Transaction
from local.stepfunctions.jsontext import Json
from local.stepfunctions.live import Happening, Live, counts
from local.stepfunctions.run import Run
from local.stepfunctions.tasks import TaskRequest, TaskRunner
from local.stepfunctions.turns import Turns
from local.stepfunctions.writer import Writer

if TYPE_CHECKING:
    from local.stepfunctions.engine import Engine

_log = logging.getLogger(__name__)


class Driver:
    """Feeds happenings to executions and carries out their commands.

    Args:
        engine: whose executions they are.
        clock: the time.
        tasks: what runs tasks.
        prepare: makes of a turn what has to be kept before anything is done about it.
        journal: where it is kept; without one nothing is.
        published: called with each execution after it moved.
    """

    def __init__(
        self,
        engine: "Engine",
        clock: Clock,
        tasks: TaskRunner,
        prepare: Callable[[list[Happening]], Transaction | None],
        journal: Journal | None,
        published: Callable[[Live], None],
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._tasks = tasks
        self._prepare = prepare
        self._writer = None if journal is None else Writer(journal, self.kill)
        self._published = published
        self._turns = Turns()
        self._scheduled = False
        self._serving = False
        self._in_flight: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self.dead = False
        self.died = asyncio.Event()
        self._flushing: set[asyncio.Event] = set()
        self._parked = 0
        self.tokens: dict[str, tuple[Live, int]] = {}

    def kill(self) -> None:
        """Stop dead, as if the process were killed: what did not reach the journal is lost."""
        self.dead = True
        self.died.set()
        self._turns.clear()
        if self._writer is not None:
            self._writer.stop()
        for kept in self._flushing:
            kept.set()
        self._changed.set()

    def post(self, live: Live, incoming: Incoming) -> None:
        """Note that something happened now; the execution moves on soon."""
        if self.dead:
            return
        self._turns.add(live, incoming, self._clock.now())
        self._changed.set()
        self._soon()

    def _soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        # One turn, then the loop: a task that answers at once is heard before others begin.
        self._scheduled = False
        self._serve()
        if self._turns.any() and not self.dead:
            self._soon()

    def pump(self) -> None:
        """Let every execution that something happened to move on, until none is left."""
        while self._serve():
            pass

    def _serve(self) -> bool:
        """Serve one turn; False when nothing waits, or a turn is being served already."""
        if self._serving or self.dead or not self._turns.any():
            return False
        self._serving = True
        try:
            self._move(self._turns.next())
        finally:
            self._serving = False
        return True

    def _move(self, batch: list[Happening]) -> None:
        # An ended execution may have been rebuilt and redriven meanwhile: let it rest.
        turn = [(live, incoming, at) for live, incoming, at in batch if counts(live, incoming)]
        steps = [(live, advance(live.run, incoming, at)) for live, incoming, at in turn]
        transaction = self._prepare(turn)
        if transaction is None or self._writer is None:
            self._do(steps)
        else:
            self._writer.add(transaction, lambda: self._do(steps))

    def _do(self, steps: list[tuple[Live, list[Command]]]) -> None:
        """Do what a turn asks for, now that it is kept."""
        for live, commands in steps:
            self._turns.moved(live)
            for command in commands:
                self._carry_out(live, command)
            self._published(live)
        self._changed.set()

    async def flush(self) -> None:
        """Wait until everything that happened so far is kept.

        Raises:
            RuntimeError: the engine stopped before that.
        """
        self.pump()
        if self._writer is None:
            return
        transaction = None if self.dead else self._prepare([])
        if transaction is None:
            raise RuntimeError("the engine stopped before this was kept")
        kept = asyncio.Event()
        self._flushing.add(kept)
        self._writer.add(transaction, kept.set)
        await kept.wait()
        self._flushing.discard(kept)
        if self.dead:
            raise RuntimeError("the engine stopped before this was kept")

    def _carry_out(self, live: Live, command: Command) -> None:
        if isinstance(command, RunTask):
            self._run_task(live, command)
        elif isinstance(command, RunMap):
            self.spawn(self._perform_map(live, command))
        elif isinstance(command, SetTimer):
            number = command.timer
            live.timers[number] = self._clock.call_at(command.due, lambda: self._fire(live, number))
        elif isinstance(command, CancelTimer):
            timer = live.timers.pop(command.timer, None)
            if timer is not None:
                timer.cancel()
        else:
            self._cancel_task(live, command)

    def _fire(self, live: Live, number: int) -> None:
        live.timers.pop(number, None)
        self.post(live, TimerFired(number))

    def resume(self, live: Live, commands: list[Command]) -> None:
        """Go on with a rebuilt execution: what it waited for, it waits for again."""
        for command in commands:
            if not isinstance(command, RunTask):
                self._carry_out(live, command)
            elif command.task in live.submitted and ".sync" not in command.resource:
                self._expect_token(live, command)
            else:
                self._run_task(live, command, again=True)

    def _expect_token(self, live: Live, command: RunTask) -> None:
        if command.token is not None:
            self.tokens[command.token] = (live, command.task)

    def _run_task(self, live: Live, command: RunTask, *, again: bool = False) -> None:
        self._expect_token(live, command)
        if self._engine.offer_activity(live, command):
            return
        self.spawn(self._perform(live, command, again=again))

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run something that counts as busy until it ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._in_flight.add(task)
        task.add_done_callback(self._landed)
        return task

    async def _perform_map(self, live: Live, command: RunMap) -> None:
        arn = live.run.identity.arn
        live.children[command.task] = command.spec.arn
        try:
            result = await self._engine.map_runs.run(arn, command.spec)
        except StatesError as error:
            self.post(live, TaskFailed(command.task, error.error, error.cause))
        else:
            self.post(live, TaskSucceeded(command.task, result))

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._in_flight.discard(task)
        self._changed.set()

    async def try_task(self, run: Run, command: RunTask) -> Json:
        """Run a task that belongs to no execution of this engine.

        Raises:
            StatesError: it failed.
        """
        request = self._request(run, command, lambda _: None, again=False)
        return await self._tasks.run(request)

    def _request(
        self, run: Run, command: RunTask, submitted: Callable[[str], None], *, again: bool
    ) -> TaskRequest:
        return TaskRequest(
            engine=self._engine,
            execution_arn=run.identity.arn,
            task=command.task,
            resource=command.resource,
            arguments=command.arguments,
            token=command.token,
            state=command.state,
            attempt=command.attempt,
            submitted=submitted,
            redelivered=again,
        )

    async def _perform(self, live: Live, command: RunTask, *, again: bool) -> None:
        number = command.task

        def submitted(output: str) -> None:
            if number not in live.submitted:
                self.post(live, TaskSubmitted(number, output))

        request = self._request(live.run, command, submitted, again=again)
        try:
            output = await self._tasks.run(request)
        except StatesError as error:
            self._failed(live, command, error.error, error.cause)
        except EngineKilledError:
            self.kill()
        except Exception as error:  # noqa: BLE001 - a runner's defect must not hang the execution
            _log.exception("a task runner raised", extra={"resource": command.resource})
            self._failed(live, command, TASK_FAILED, f"{type(error).__name__}: {error}")
        else:
            if command.token is None:
                self.post(live, TaskSucceeded(number, output))
            else:
                self.post(live, TaskSubmitted(number, output.text))

    def _failed(self, live: Live, command: RunTask, error: str | None, cause: str | None) -> None:
        self.forget_token(command.token)
        self.post(live, TaskFailed(command.task, error, cause))

    def forget_token(self, token: str | None) -> None:
        """Accept this token no more."""
        if token is not None:
            self.tokens.pop(token, None)

    def _cancel_task(self, live: Live, command: CancelTask) -> None:
        self.forget_token(command.token)
        child = live.children.pop(command.task, None)
        if child is not None:
            self._engine.stop_child(child)

    async def run_until_idle(self) -> None:
        """Wait until nothing can happen before time passes or somebody calls."""
        while True:
            self.pump()
            self._changed.clear()
            if self._idle():
                await asyncio.sleep(0)
                if self._idle():
                    return
                continue
            await self._changed_or_sleeping()

    def _idle(self) -> bool:
        if self.dead:
            return True
        sleepers = self._clock.sleepers if isinstance(self._clock, VirtualClock) else 0
        writing = self._writer is not None and self._writer.busy
        return (
            not self._turns.any()
            and not writing
            and len(self._in_flight) <= sleepers + self._parked
        )

    async def _changed_or_sleeping(self) -> None:
        # A task that goes to sleep on the virtual clock tells nobody, so look again soon.
        for _ in range(100):
            await asyncio.sleep(0)
            if self._changed.is_set() or self._idle():
                return
        try:
            await asyncio.wait_for(self._changed.wait(), 0.005)
        except TimeoutError:
            return

    def park(self) -> asyncio.Future[None]:
        """A future for a task that waits for another execution; it does not count as busy."""
        self._parked += 1
        self._changed.set()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.add_done_callback(self._unpark)
        return future

    def _unpark(self, _: asyncio.Future[None]) -> None:
        self._parked -= 1

    async def close(self) -> None:
        """Keep what happened and stop for good, with all tasks; executions stay as they are."""
        if not self.dead:
            await self.flush()
        self.dead = True
        tasks = list(self._in_flight)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._writer is not None:
            self._writer.close()
