"""Faults on purpose: at a chosen task and moment, an error, a timeout, a crash, a lost callback.

A fault stands at a `Point`: the n-th time a state of a machine asked for its task, and a moment
around that task. `Faults.points` lists every point a run came past, and `possible_faults` of
`local.stepfunctions.testing` every fault that can strike a machine for an input, so that a test
can run the machine once for each of them.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from local.stepfunctions.errors import TIMEOUT, ApiError, EngineKilledError, StatesError
from local.stepfunctions.jsontext import Json
from local.stepfunctions.tasks import TaskRequest, TaskRunner

_FOREVER: Final = 10 * 365 * 86_400
THROTTLE: Final = "Lambda.TooManyRequestsException"
_API_THROTTLE: Final = "ThrottlingException"


class Moment(StrEnum):
    """When a fault strikes."""

    BEFORE = "before"
    """The task was asked for and did not run."""
    DURING = "during"
    """The task runs and has not returned; its effect may still come."""
    AFTER = "after"
    """The task had its effect and its result was not recorded."""
    CALLBACK = "callback"
    """Somebody answers the task's token."""


class Kind(StrEnum):
    """What a fault does."""

    ERROR = "error"
    """The task fails under a given name; a callback is refused under it."""
    THROTTLE = "throttle"
    """The service refuses the task, or the engine the callback, for now."""
    TIMEOUT = "timeout"
    """The task never returns."""
    CRASH = "crash"
    """The engine is killed and started again from its journal."""
    DUPLICATE = "duplicate"
    """The task is delivered twice."""
    LOST = "lost"
    """The callback does not arrive."""
    DOUBLED = "doubled"
    """The callback arrives twice."""


_AROUND: Final = (Kind.ERROR, Kind.THROTTLE, Kind.TIMEOUT, Kind.CRASH)
_KINDS: Final = {
    Moment.BEFORE: (*_AROUND, Kind.DUPLICATE),
    Moment.DURING: _AROUND,
    Moment.AFTER: _AROUND,
    Moment.CALLBACK: (Kind.ERROR, Kind.THROTTLE, Kind.LOST, Kind.DOUBLED, Kind.CRASH),
}


@dataclass(frozen=True, slots=True)
class Point:
    """A place where a fault can strike.

    Attributes:
        machine: the state machine's name.
        state: the state's name.
        visit: 0 for the first task this state asked for in this run, retries included.
        moment: when, around that task.
    """

    machine: str
    state: str
    visit: int
    moment: Moment


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault at a point; it strikes once.

    Attributes:
        point: where.
        kind: what it does.
        error: the error's name, for ERROR.
        cause: the error's cause, for ERROR.
    """

    point: Point
    kind: Kind
    error: str = "Fault.Injected"
    cause: str = "injected on purpose"


class Faults:
    """A task runner that strikes at chosen points.

    Args:
        tasks: what really runs tasks.
    """

    def __init__(self, tasks: TaskRunner) -> None:
        self._tasks = tasks
        self.clients: Any = getattr(tasks, "clients", None)
        self._faults: dict[Point, Fault] = {}
        self._visits: Counter[tuple[str, str]] = Counter()
        self._seen: list[Point] = []
        self._tokens: dict[str, Point] = {}
        self._left: list[asyncio.Task[Json]] = []
        self.struck: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Strike with this fault when its point comes.

        Raises:
            ValueError: a fault of this kind cannot strike at this moment.
        """
        moment = fault.point.moment
        if fault.kind not in _KINDS[moment]:
            raise ValueError(f"at the moment {moment} there is no fault {fault.kind}")
        self._faults[fault.point] = fault

    def points(self) -> list[Point]:
        """Every point the runs so far came past, in order."""
        return list(self._seen)

    def possible(self) -> list[Fault]:
        """Every fault that could strike at the points the runs so far came past."""
        return faults_at(self._seen)

    async def run(self, request: TaskRequest) -> Json:
        """Run a task, or what a fault makes of it.

        Raises:
            StatesError: the task failed, by itself or by a fault.
            EngineKilledError: a fault killed the engine.
        """
        base = self._point(request)
        before = self._strike(base(Moment.BEFORE))
        if before is not None:
            await self._fail(before, request)
            if before.kind is Kind.DUPLICATE:
                await self._tasks.run(request)
        during = self._strike(base(Moment.DURING))
        if during is not None:
            self._left.append(asyncio.ensure_future(self._tasks.run(request)))
            await asyncio.sleep(0)
            await self._fail(during, request)
        result = await self._tasks.run(request)
        after = self._strike(base(Moment.AFTER))
        if after is not None:
            await self._fail(after, request)
        return result

    def answers(self, token: str) -> int:
        """How often an answer to a token arrives: 0, 1 or 2 times.

        Raises:
            ApiError: a fault refused the answer.
            EngineKilledError: a fault killed the engine when the answer came.
        """
        point = self._tokens.get(token)
        fault = None if point is None else self._strike(point, seen=False)
        if fault is None:
            return 1
        if fault.kind is Kind.ERROR:
            raise ApiError(fault.error, fault.cause)
        if fault.kind is Kind.THROTTLE:
            raise ApiError(_API_THROTTLE, "Rate exceeded")
        if fault.kind is Kind.CRASH:
            raise EngineKilledError
        return 0 if fault.kind is Kind.LOST else 2

    def _point(self, request: TaskRequest) -> Callable[[Moment], Point]:
        machine = request.execution_arn.split(":")[6]
        key = (machine, request.state)
        visit = self._visits[key]
        self._visits[key] += 1
        if request.token is not None:
            callback = Point(machine, request.state, visit, Moment.CALLBACK)
            self._tokens[request.token] = callback
            self._seen.append(callback)
        return lambda moment: Point(machine, request.state, visit, moment)

    def _strike(self, point: Point, *, seen: bool = True) -> Fault | None:
        if seen:
            self._seen.append(point)
        fault = self._faults.pop(point, None)
        if fault is not None:
            self.struck.append(fault)
        return fault

    async def _fail(self, fault: Fault, request: TaskRequest) -> None:
        if fault.kind is Kind.ERROR:
            raise StatesError(fault.error, fault.cause)
        if fault.kind is Kind.THROTTLE:
            raise StatesError(THROTTLE, "Rate Exceeded.")
        if fault.kind is Kind.CRASH:
            raise EngineKilledError
        if fault.kind is Kind.TIMEOUT:
            await request.engine.clock.sleep(_FOREVER)
            raise StatesError(TIMEOUT)

    async def close(self) -> None:
        """Stop tasks that a fault left running."""
        for task in self._left:
            task.cancel()
        await asyncio.gather(*self._left, return_exceptions=True)


def at(
    machine: str,
    state: str,
    moment: Moment | str,
    kind: Kind | str,
    *,
    visit: int = 0,
    error: str | None = None,
) -> Fault:
    """A fault in one line; moment and kind may be given as plain text."""
    point = Point(machine, state, visit, Moment(moment))
    return Fault(point, Kind(kind)) if error is None else Fault(point, Kind(kind), error)


def faults_at(points: Iterable[Point]) -> list[Fault]:
    """Every fault that can strike at these points."""
    return [Fault(point, kind) for point in points for kind in _KINDS[point.moment]]


def first_of_each(faults: Iterable[Fault]) -> list[Fault]:
    """One fault for each state, moment and kind: the first visit stands for the others."""
    chosen: dict[tuple[str, str, Moment, Kind], Fault] = {}
    for fault in faults:
        point = fault.point
        chosen.setdefault((point.machine, point.state, point.moment, fault.kind), fault)
    return list(chosen.values())
