"""The state of one execution: its history, its strands, what it waits for."""

import base64
import hashlib
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from local.constants import HISTORY_EVENTS
from local.stepfunctions.clock import iso
from local.stepfunctions.commands import CancelTask, CancelTimer, Command, SetTimer
from local.stepfunctions.events import Event
from local.stepfunctions.expressions import Scope, fixed_randomness
from local.stepfunctions.jsonata_functions import Ambience
from local.stepfunctions.jsontext import Json, JsonValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from local.stepfunctions.machine import Machine, Program
    from local.stepfunctions.states.base import State
    from local.stepfunctions.states.fan_out import FanOut


class Status(StrEnum):
    """How an execution stands."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    ABORTED = "ABORTED"


class HistoryFullError(Exception):
    """The execution may record no further event but its last."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What an execution is from its first moment on.

    Attributes:
        arn: the execution's ARN.
        name: its name.
        machine_arn: the state machine without version.
        machine_name: its name.
        role_arn: the machine's role.
        version_arn: the version that was started, None for the machine itself.
        alias_arn: the alias through which it was started, None for none.
        seed: what its ids and its randomness are made from.
        express: whether its type is EXPRESS.
        map_run_arn: the map run whose child it is, None for none.
    """

    arn: str
    name: str
    machine_arn: str
    machine_name: str
    role_arn: str
    seed: str
    version_arn: str | None = None
    alias_arn: str | None = None
    express: bool = False
    map_run_arn: str | None = None


class Task:
    """One attempt of a Task state that has not ended."""

    __slots__ = ("deadline", "heartbeat", "heartbeat_seconds", "number", "strand", "token")

    def __init__(self, number: int, strand: "Strand", token: str | None) -> None:
        self.number = number
        self.strand = strand
        self.token = token
        self.deadline: int | None = None
        self.heartbeat: int | None = None
        self.heartbeat_seconds: float | None = None


class Strand:
    """One line of states: the machine itself, a branch of a Parallel, an iteration of a Map."""

    __slots__ = (
        "attempts",
        "before",
        "entered_at",
        "entered_id",
        "fan",
        "index",
        "input",
        "item",
        "last",
        "map_redrives",
        "map_run",
        "parent",
        "program",
        "queued",
        "retries",
        "spent",
        "state",
        "task",
        "timer",
        "token",
        "variables",
    )

    def __init__(self, program: "Program", parent: "FanOut | None", index: int) -> None:
        self.program = program
        self.parent = parent
        self.index = index
        self.variables: dict[str, Any] = {}
        self.item: dict[str, Any] | None = None
        self.last = 0
        self.before = 0
        self.state: State | None = None
        self.input = Json(None)
        self.entered_at = 0
        self.entered_id = 0
        self.attempts: dict[int, int] = {}
        self.retries = 0
        self.task: Task | None = None
        self.fan: FanOut | None = None
        # What a redrive needs: the children of a fan-out that failed, the state not yet entered.
        self.spent: FanOut | None = None
        self.queued: tuple[str, Json] | None = None
        self.map_run: str | None = None
        self.map_redrives = 0
        self.timer: int | None = None
        self.token: str | None = None


class Run:
    """One execution, changed only by `advance`.

    Args:
        identity: what it is.
        machine: the compiled definition.
        given: its input.
        started: the moment of its start in milliseconds.
    """

    def __init__(self, identity: Identity, machine: "Machine", given: Json, started: int) -> None:
        self.identity = identity
        self.machine = machine
        self.input = given
        self.started = started
        self.stopped: int | None = None
        self.status = Status.RUNNING
        self.output: Json | None = None
        self.error: str | None = None
        self.cause: str | None = None
        self.history: list[Event] = []
        self.redrives = 0
        self.redriven: int | None = None
        self.root = Strand(machine.program, None, 0)
        self.tasks: dict[int, Task] = {}
        self.timers: dict[int, tuple[Strand | None, Callable[[Run, Strand], None] | None]] = {}
        self.ready: deque[tuple[Strand, str, Json]] = deque()
        self.commands: list[Command] = []
        self.now = started
        self.ambience = Ambience(started, fixed_randomness(f"{identity.seed}:{identity.arn}"))
        self.has_activity: Callable[[str], bool] = lambda _: True
        # Members of the context object that a test of one state has set.
        self.fixed_context: dict[str, Any] = {}
        self._numbers = 0

    @property
    def open(self) -> bool:
        """Whether it still runs."""
        return self.status is Status.RUNNING

    def number(self) -> int:
        """A number for a task or timer, never used before in this execution."""
        self._numbers += 1
        return self._numbers

    def record(
        self, strand: Strand, kind: str, details: dict[str, Any], previous: int | None = None
    ) -> int:
        """Add an event to the history and make it the strand's last; returns its id.

        Raises:
            HistoryFullError: the history has no room but for the execution's end.
        """
        number = len(self.history) + 1
        if number >= HISTORY_EVENTS and self.open:
            raise HistoryFullError
        came_from = strand.last if previous is None else previous
        self.history.append(Event(number, came_from, kind, self.now, details))
        strand.last = number
        return number

    def note(self, kind: str, details: dict[str, Any], previous: int) -> int:
        """Add an event that does not move its strand on; returns its id."""
        number = len(self.history) + 1
        if number >= HISTORY_EVENTS and self.open:
            raise HistoryFullError
        self.history.append(Event(number, previous, kind, self.now, details))
        return number

    def set_timer(
        self, strand: Strand | None, due: int, fired: "Callable[[Run, Strand], None] | None"
    ) -> int:
        """Ask to be told when a moment has come; returns the timer's number."""
        number = self.number()
        self.timers[number] = (strand, fired)
        self.commands.append(SetTimer(number, due))
        return number

    def cancel_timer(self, number: int | None) -> None:
        """Forget a timer."""
        if number is not None and self.timers.pop(number, None) is not None:
            self.commands.append(CancelTimer(number))

    def end_task(self, task: Task) -> None:
        """Take an attempt off the list: it returned, failed or ran out of time."""
        self.tasks.pop(task.number, None)
        task.strand.task = None
        self.cancel_timer(task.deadline)
        self.cancel_timer(task.heartbeat)

    def abandon_task(self, task: Task) -> None:
        """End an attempt that may still be running outside."""
        self.end_task(task)
        self.commands.append(CancelTask(task.number, task.token))

    def token(self, strand: Strand) -> str:
        """The task token of the strand's current attempt; the same each time it is asked for."""
        if strand.token is None:
            strand.token = task_token(self.identity, self.number())
        return strand.token

    def scope(self, strand: Strand, **states: JsonValue) -> Scope:
        """What an expression of the strand's current state sees."""
        states["input"] = strand.input.data
        return Scope(states, strand.variables, lambda: self.context(strand), self.ambience)

    def context(self, strand: Strand) -> dict[str, Any]:
        """The context object as `$states.context`."""
        identity = self.identity
        execution: dict[str, Any] = {
            "Id": identity.arn,
            "Input": self.input.data,
            "Name": identity.name,
            "RoleArn": identity.role_arn,
            "StartTime": iso(self.started),
        }
        if not identity.express:
            execution["RedriveCount"] = self.redrives
        if self.redriven is not None:
            execution["RedriveTime"] = iso(self.redriven)
        context: dict[str, Any] = {
            "Execution": execution,
            "StateMachine": {"Id": identity.machine_arn, "Name": identity.machine_name},
        }
        if strand.state is not None:
            context["State"] = {
                "Name": strand.state.name,
                "EnteredTime": iso(strand.entered_at),
                "RetryCount": strand.retries,
            }
            if strand.state.needs_token:
                context["Task"] = {"Token": self.token(strand)}
        if strand.item is not None:
            context["Map"] = {"Item": strand.item}
        return {**context, **self.fixed_context}


def task_token(identity: Identity, number: int) -> str:
    """A task token: opaque to its holder, readable for the engine, unguessable from outside."""
    proof = hashlib.sha256(f"{identity.seed}:{identity.arn}:{number}".encode()).digest()
    return base64.b64encode(proof + f"{number}:{identity.arn}".encode()).decode()


def token_owner(token: str) -> str | None:
    """The ARN of the execution a token belongs to; None when it is no token of any engine."""
    try:
        plain = base64.b64decode(token, validate=True)[32:].decode()
    except ValueError:
        return None
    _, colon, arn = plain.partition(":")
    return arn if colon and arn.startswith("arn:") else None
