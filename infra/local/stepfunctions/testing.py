"""State machines under test: an engine with virtual time and functions in this process."""

import asyncio
import inspect
import itertools
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from local.faults import Fault, Faults, Kind, Moment, at, faults_at
from local.invoke import InvokeRefusedError, InvokeResult
from local.stepfunctions.clock import VirtualClock
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import ApiError, EngineKilledError
from local.stepfunctions.events import Event
from local.stepfunctions.integrations.runner import Clients, Integrations
from local.stepfunctions.journal import Journal
from local.stepfunctions.jsontext import JsonValue, dumps, loads
from local.stepfunctions.virtual_time import pass_time

Handler = Callable[[Any], Any]
_YEAR: Final = 366 * 86_400_000
_FIRST: Final = "machine-1"


class Functions:
    """Lambda functions in this process, by name; a handler may be a coroutine function.

    A handler takes the event. What it raises becomes a function error whose type is the
    exception's class name.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self.calls: list[tuple[str, Any]] = []

    def add(self, name: str, handler: Handler) -> None:
        """Answer calls of a function, by name or by any ARN that ends in its name."""
        self._handlers[name] = handler

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        """Call a handler.

        Raises:
            InvokeRefusedError: there is no such function.
        """
        name = _name(function_arn)
        handler = self._handlers.get(name)
        if handler is None:
            raise InvokeRefusedError(
                "Lambda.ResourceNotFoundException", f"Function not found: {function_arn}"
            )
        event = loads(payload)
        self.calls.append((name, event))
        result = await _call(handler, event)
        return InvokeResult(202, b"") if asynchronous else result


async def _call(handler: Handler, event: JsonValue) -> InvokeResult:
    try:
        answer = handler(event)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:  # noqa: BLE001 - whatever a function raises is its answer
        return InvokeResult(200, dumps(_error_object(error)).encode(), "Unhandled")
    return InvokeResult(200, dumps(answer).encode())


def _error_object(error: Exception) -> dict[str, Any]:
    return {
        "errorMessage": str(error),
        "errorType": type(error).__name__,
        "requestId": "00000000-0000-4000-8000-000000000000",
        "stackTrace": traceback.format_tb(error.__traceback__),
    }


def _name(function_arn: str) -> str:
    parts = function_arn.split(":")
    return parts[6] if len(parts) > 6 else parts[0]


def _milliseconds(duration: Mapping[str, float]) -> int:
    return round(timedelta(**duration).total_seconds() * 1000)


class Execution:
    """An execution under test; reads the engine each time it is asked."""

    def __init__(self, machines: "StepFunctions", arn: str) -> None:
        self._machines = machines
        self.arn = arn

    @property
    def _engine(self) -> Engine:
        return self._machines.engine

    @property
    def status(self) -> str:
        """RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED."""
        return str(self._engine.run(self.arn).status)

    @property
    def output(self) -> JsonValue:
        """The output as a value; None while there is none."""
        output = self._engine.run(self.arn).output
        return None if output is None else output.data

    @property
    def error(self) -> str | None:
        """The error's name."""
        return self._engine.run(self.arn).error

    @property
    def cause(self) -> str | None:
        """The error's cause."""
        return self._engine.run(self.arn).cause

    @property
    def history(self) -> list[Event]:
        """The events so far."""
        return self._engine.history(self.arn)

    @property
    def types(self) -> list[str]:
        """The types of the events so far."""
        return [event.type for event in self.history]

    @property
    def states(self) -> list[str]:
        """The names of the states entered so far."""
        return [event.details["name"] for event in self.history if "Entered" in event.type]


class StepFunctions:
    """Everything a test of a state machine needs.

    Args:
        seed: what ids and jitter are made from.
        clients: makes boto3 clients for tasks that are not functions.
        journal: a file for the journal; with one, a crash is survived.
    """

    def __init__(
        self, seed: int = 0, clients: Clients | None = None, journal: Path | None = None
    ) -> None:
        self.clock = VirtualClock()
        self.functions = Functions()
        self.faults = Faults(Integrations(self.functions, clients))
        self._seed = seed
        self._path = journal
        self._names = itertools.count(1)
        self._quiet = itertools.count(1)
        self._callbacks: list[Callable[[], None]] = []
        self.crashes = 0
        self._last: Execution | None = None
        self.engine = self._start_engine()

    def _start_engine(self) -> Engine:
        self._journal = None if self._path is None else Journal(self._path)
        return Engine(self.faults, clock=self.clock, seed=self._seed, journal=self._journal)

    def function(self, name: str, handler: Handler) -> None:
        """Let a handler answer for a Lambda function."""
        self.functions.add(name, handler)

    def fault(
        self,
        state: str,
        moment: Moment | str,
        kind: Kind | str,
        *,
        machine: str = _FIRST,
        visit: int = 0,
        error: str | None = None,
    ) -> None:
        """Let something go wrong at a task.

        Args:
            state: the state whose task it is.
            moment: when, around the task.
            kind: what goes wrong.
            machine: the machine's name; the first one made without a name unless given.
            visit: 0 for the first time the state asks for its task.
            error: the error's name, for an ERROR.
        """
        self.faults.add(at(machine, state, moment, kind, visit=visit, error=error))

    def create(self, definition: Mapping[str, Any] | str, name: str | None = None) -> str:
        """Add a state machine; returns its ARN."""
        text = definition if isinstance(definition, str) else dumps(definition)
        name = name or f"machine-{next(self._names)}"
        return self.engine.create_state_machine(name=name, definition=text)

    async def start(
        self,
        definition: Mapping[str, Any] | str,
        given: JsonValue = None,
        *,
        name: str | None = None,
    ) -> Execution:
        """Start an execution and let it run as far as it comes without time passing.

        Args:
            definition: ASL, or the ARN of a machine that exists.
            given: the input, an empty object unless given.
            name: the execution's name.
        """
        known = isinstance(definition, str) and definition.startswith("arn:")
        arn = str(definition) if known else self.create(definition)
        text = dumps({} if given is None else given)
        execution = Execution(self, self.engine.start_execution(arn, text, name))
        self._last = execution
        await self.settle()
        return execution

    @property
    def history(self) -> list[Event]:
        """The events of the execution that was started last; empty before the first."""
        return [] if self._last is None else self._last.history

    def succeed(self, token: str, output: JsonValue) -> None:
        """Answer a task token; a fault may lose or double the answer.

        Raises:
            ApiError: the token is not accepted, or a fault refused the answer.
        """
        self._answer(token, lambda: self.engine.send_task_success(token, dumps(output)))

    def fail(self, token: str, error: str, cause: str = "") -> None:
        """Fail a task by its token; a fault may lose or double the answer.

        Raises:
            ApiError: the token is not accepted, or a fault refused the answer.
        """
        self._answer(token, lambda: self.engine.send_task_failure(token, error, cause))

    def _answer(self, token: str, send: Callable[[], None]) -> None:
        try:
            times = self.faults.answers(token)
        except EngineKilledError:
            self.engine.driver.kill()
            # The caller got no answer and sends again once the engine is back.
            self._callbacks.append(send)
            return
        for number in range(times):
            try:
                send()
            except ApiError:
                if not number:
                    raise

    async def settle(self) -> None:
        """Let everything happen that can happen without time passing, crashes included."""
        await self.engine.run_until_idle()
        while self.engine.driver.dead:
            await self.crash()

    async def crash(self) -> None:
        """Kill the engine and start another one on its journal.

        Raises:
            RuntimeError: there is no journal to go on from.
        """
        if self._journal is None:
            raise RuntimeError("only an engine with a journal survives a crash")
        self.crashes += 1
        self.engine.driver.kill()
        await self.engine.close()
        self._journal.close()
        self.engine = self._start_engine()
        self.engine.resume()
        callbacks, self._callbacks = self._callbacks, []
        for send in callbacks:
            send()
        await self.engine.run_until_idle()

    async def advance(self, **duration: float) -> None:
        """Let time pass, such as `advance(hours=24)`."""
        target = self.clock.now() + _milliseconds(duration)
        await pass_time(self.clock, target, self.settle)
        self.clock.move_to(target)

    def later(self, call: Callable[[], object], **duration: float) -> None:
        """Call at a moment to come, such as `later(lambda: sfn.succeed(token, 1), hours=3)`."""
        self.clock.call_at(self.clock.now() + _milliseconds(duration), call)

    async def finish(self, execution: Execution) -> Execution:
        """Let as much time pass as the execution needs to end, a year at most."""
        target = self.clock.now() + _YEAR
        await pass_time(self.clock, target, self.settle, lambda: execution.status == "RUNNING")
        return execution

    async def possible_faults(
        self, definition: Mapping[str, Any], given: JsonValue = None, *, answer: JsonValue = None
    ) -> list[Fault]:
        """Every fault that can strike a machine for an input.

        The machine runs once without faults, as long as it needs in virtual time. Add one of the
        faults to another `StepFunctions` and start the machine there as its first.

        Args:
            definition: ASL.
            given: the input, an empty object unless given.
            answer: what tokens that no function answers are answered with.
        """
        name = f"quiet-{next(self._quiet)}"
        before = len(self.faults.points())
        execution = await self.start(self.create(definition, name), given)

        async def settle() -> None:
            await self.settle()
            for token in list(self.engine.driver.tokens):
                self.engine.send_task_success(token, dumps(answer))
                await self.settle()

        target = self.clock.now() + _YEAR
        await pass_time(self.clock, target, settle, lambda: execution.status == "RUNNING")
        passed = self.faults.points()[before:]
        return faults_at(
            replace(point, machine=_FIRST) if point.machine == name else point for point in passed
        )

    async def sleep(self, seconds: float) -> None:
        """For handlers: take so much virtual time."""
        await self.clock.sleep(seconds)

    async def close(self) -> None:
        """Stop what still runs."""
        await self.faults.close()
        await self.engine.close()
        if self._journal is not None:
            self._journal.close()
        await asyncio.sleep(0)
