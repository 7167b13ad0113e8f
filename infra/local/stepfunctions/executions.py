"""The executions of an engine: in memory while they run, in the journal for good."""

import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from local.stepfunctions.advance import advance
from local.stepfunctions.commands import (
    CancelTask,
    CancelTimer,
    Command,
    Incoming,
    RunMap,
    RunTask,
    SetTimer,
    TaskSubmitted,
    WorkerStarted,
)
from local.stepfunctions.descriptions import summary
from local.stepfunctions.journal import Ending, Journal, Stored, Transaction
from local.stepfunctions.jsontext import Json
from local.stepfunctions.live import Live
from local.stepfunctions.machine import Machine, compile_machine
from local.stepfunctions.registry import Revision
from local.stepfunctions.run import Run
from local.stepfunctions.validation import parse_definition


class Executions:
    """Finds executions by ARN, wherever they are.

    Args:
        journal: where they are kept; without one they stay in memory.
        has_activity: whether an activity exists, for executions brought back.
    """

    def __init__(self, journal: Journal | None, has_activity: Callable[[str], bool]) -> None:
        self._journal = journal
        self._has_activity = has_activity
        self._lives: dict[str, Live] = {}

    def add(self, run: Run, revision: Revision) -> Live:
        """Take up a new execution."""
        live = Live(run)
        live.revision_id = revision.id
        live.definition = revision.definition
        self._lives[run.identity.arn] = live
        if self._journal is not None and not _passing(run):
            live.id = self._journal.next_id()
            stored = Stored(
                live.id, run.identity, revision.definition, revision.id, run.input.text, run.started
            )
            live.start = (stored, _definition_id(revision.definition))
        return live

    def exists(self, arn: str) -> bool:
        """Whether there is such an execution."""
        if arn in self._lives:
            return True
        return self._journal is not None and self._journal.knows(arn)

    def find(self, arn: str) -> Live | None:
        """The execution of an ARN, rebuilt from the journal when it left memory."""
        live = self._lives.get(arn)
        if live is not None or self._journal is None:
            return live
        stored = self._journal.find(arn)
        return None if stored is None else self._rebuilt(stored)[0]

    def take_up(self, live: Live) -> None:
        """Keep a rebuilt execution in memory: something is about to happen to it."""
        self._lives[live.run.identity.arn] = live

    def prepare(self, turn: list[tuple[Live, Incoming, int]]) -> Transaction | None:
        """What has to be kept of a turn before anything is done about it; None without journal."""
        journal = self._journal
        if journal is None:
            return None
        starts = []
        rows = []
        endings = {}
        for live, incoming, at in turn:
            if _passing(live.run):
                continue
            # An execution and the first thing that happened to it are kept together or not at all.
            if live.start is not None:
                starts.append(live.start)
                live.start = None
            live.happened += 1
            rows.append((live.id, live.happened, at, incoming))
            if not live.run.open or live.ends_told:
                status = str(live.run.status)
                told = None if live.run.open else summary(live.run)
                endings[live.id] = Ending(live.id, status, told or {})
        return journal.prepare(starts, rows, list(endings.values()))

    def forget(self, live: Live) -> None:
        """Let an ended execution leave memory: the journal has it, or nobody asks for it."""
        if self._journal is not None or _passing(live.run):
            self._lives.pop(live.run.identity.arn, None)

    def summaries(self, column: str, arn: str) -> list[dict[str, Any]]:
        """The executions of a machine or map run as ListExecutions shows them, oldest first.

        Args:
            column: "machine" or "map_run".
            arn: which.
        """
        kept = {} if self._journal is None else self._journal.summaries(column, arn)
        for live in self._lives.values():
            identity = live.run.identity
            own = identity.machine_arn if column == "machine" else identity.map_run_arn
            if own == arn:
                kept[identity.arn] = summary(live.run)
        return sorted(kept.values(), key=lambda shape: float(shape["startDate"]))

    def resume(self) -> Iterator[tuple[Live, list[Command]]]:
        """Bring back all executions that did not end, each with what it still waits for."""
        if self._journal is None:
            return
        found = [self._rebuilt(stored) for stored in self._journal.still_open()]
        for live, _ in found:
            self.take_up(live)
        yield from found

    def _rebuilt(self, stored: Stored) -> tuple[Live, list[Command]]:
        if self._journal is None:
            raise AssertionError("there is no journal to rebuild from")
        machine = _compiled(stored.definition, express=stored.identity.express)
        run = Run(stored.identity, machine, Json.parse(stored.input), stored.started)
        run.has_activity = self._has_activity
        live = Live(run)
        live.id = stored.id
        live.revision_id, live.definition = stored.revision, stored.definition
        waiting: dict[int, Command] = {}
        for at, incoming in self._journal.happenings(stored.id):
            live.happened += 1
            if isinstance(incoming, TaskSubmitted | WorkerStarted):
                live.submitted.add(incoming.task)
            _note(waiting, advance(run, incoming, at))
        live.published = len(run.history)
        live.starts_told = run.redrives + 1
        live.ends_told = run.redrives if run.open else live.starts_told
        return live, [command for command in waiting.values() if _still(run, command)]


def _passing(run: Run) -> bool:
    """Whether an execution lives in memory only and leaves nothing behind, as Express does on AWS.

    The children of a map run stay: a redrive, or a restart, repeats none that succeeded.
    """
    return run.identity.express and run.identity.map_run_arn is None


def _note(waiting: dict[int, Command], commands: list[Command]) -> None:
    for command in commands:
        if isinstance(command, RunTask | RunMap | CancelTask):
            waiting[command.task] = command
        elif isinstance(command, SetTimer):
            waiting[command.timer] = command
        elif isinstance(command, CancelTimer):
            waiting.pop(command.timer, None)


def _still(run: Run, command: Command) -> bool:
    if isinstance(command, RunTask | RunMap):
        return command.task in run.tasks
    return isinstance(command, SetTimer) and command.timer in run.timers


@lru_cache(maxsize=256)
def _compiled(definition: str, *, express: bool) -> Machine:
    return compile_machine(parse_definition(definition, "EXPRESS" if express else "STANDARD"))


@lru_cache(maxsize=256)
def _definition_id(definition: str) -> str:
    return hashlib.sha256(definition.encode()).hexdigest()
