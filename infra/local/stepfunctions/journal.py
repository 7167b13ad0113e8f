"""The journal: what happened to each execution, kept before anything is done about it.

An execution is rebuilt by letting the same things happen to it again, in the same order and at
the same moments; `advance` is repeatable, so nothing else needs to be kept. Everything that
happened in one turn of the engine is written in one transaction.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from local.stepfunctions import commands
from local.stepfunctions.commands import Incoming
from local.stepfunctions.jsontext import Json, dumps
from local.stepfunctions.run import Identity

_SCHEMA: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 8000;
CREATE TABLE IF NOT EXISTS boot (number INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS resource (arn TEXT PRIMARY KEY, kind TEXT, data TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS definition (id TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS execution (
    id INTEGER PRIMARY KEY, arn TEXT UNIQUE, machine TEXT, map_run TEXT, identity TEXT,
    definition TEXT, revision TEXT, input TEXT, started INTEGER, status TEXT, summary TEXT
);
CREATE INDEX IF NOT EXISTS by_machine ON execution (machine, id);
CREATE INDEX IF NOT EXISTS by_map_run ON execution (map_run, id) WHERE map_run IS NOT NULL;
CREATE INDEX IF NOT EXISTS still_open ON execution (id) WHERE status = 'RUNNING';
CREATE TABLE IF NOT EXISTS happening (
    execution INTEGER, number INTEGER, at INTEGER, kind INTEGER, task INTEGER,
    text TEXT, more TEXT, PRIMARY KEY (execution, number)
);
"""
_STORED: Final = """
SELECT e.id, e.identity, d.text, e.revision, e.input, e.started
FROM execution e JOIN definition d ON d.id = e.definition"""
_CHECKPOINT: Final = 1_000
"""So many happenings make some MB of log, which is then written over from its start: that is
half the price of a log that grows. SQLite itself steps in at 32 MB."""
# The order is part of the file's format: append, never reorder.
_KINDS: Final[tuple[type[Incoming], ...]] = (
    commands.Started,
    commands.TaskSubmitted,
    commands.TaskSucceeded,
    commands.TaskFailed,
    commands.TaskHeartbeat,
    commands.WorkerStarted,
    commands.TimerFired,
    commands.Stopped,
    commands.Redriven,
)
_NUMBERS: Final = {kind: number for number, kind in enumerate(_KINDS)}
_FIELDS: Final[Mapping[type[Incoming], tuple[str, ...]]] = {kind: kind._fields for kind in _KINDS}


@dataclass(frozen=True, slots=True)
class Stored:
    """An execution as the journal has it.

    Attributes:
        id: its number in the journal.
        identity: what it is.
        definition: the text of the definition it runs.
        revision: the id of that revision.
        input: its input as JSON text.
        started: when it started, in milliseconds.
    """

    id: int
    identity: Identity
    definition: str
    revision: str
    input: str
    started: int


@dataclass(frozen=True, slots=True)
class Ending:
    """How an execution stands after a turn that changed its status."""

    id: int
    status: str
    summary: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Transaction:
    """One turn of the engine.

    Attributes:
        starts: executions that began, each with the id of its definition's text.
        happenings: execution, number within it, moment, what happened.
        endings: executions whose status changed.
        resources: state machines, activities and map runs by ARN; None is one that is gone.
    """

    starts: list[tuple[Stored, str]]
    happenings: list[tuple[int, int, int, Incoming]]
    endings: list[Ending]
    resources: dict[str, tuple[str, str | None]]

    def any(self) -> bool:
        """Whether there is anything to keep."""
        return bool(self.starts or self.happenings or self.endings or self.resources)


class Journal:
    """A SQLite file; of one engine at a time.

    Writing and reading have a connection each: a thread may write while the loop reads what
    was written before.

    Args:
        path: the file; it is made when there is none.
    """

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.executescript(_SCHEMA)
        self._reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("INSERT INTO boot DEFAULT VALUES")
        self.boot: int = self._db.execute("SELECT max(number) FROM boot").fetchone()[0]
        last = self._db.execute("SELECT max(id) FROM execution").fetchone()[0]
        self._last = last or 0
        self._since_checkpoint = 0
        self._definitions: set[str] = set()
        self._resources: dict[str, tuple[str, str | None]] = {}

    def next_id(self) -> int:
        """A number for a new execution."""
        self._last += 1
        return self._last

    def save(self, arn: str, kind: str, data: dict[str, Any] | None) -> None:
        """Keep a state machine or an activity with the next turn; None forgets it."""
        self._resources[arn] = (kind, None if data is None else json.dumps(data))

    def prepare(
        self,
        starts: list[tuple[Stored, str]],
        happenings: list[tuple[int, int, int, Incoming]],
        endings: list[Ending],
    ) -> Transaction:
        """What one turn of the engine has to keep, with all resources saved before it."""
        resources, self._resources = self._resources, {}
        return Transaction(starts, happenings, endings, resources)

    def stage(self, transactions: Sequence[Transaction]) -> bool:
        """Write some turns of the engine; they are kept after the commit. False: nothing to keep.

        On the engine's own thread: a statement hands the interpreter over and asks for it back,
        and a busy loop would let each row wait for that.
        """
        if not any(transaction.any() for transaction in transactions):
            return False
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        for transaction in transactions:
            self._since_checkpoint += len(transaction.happenings)
            self._write_resources(transaction.resources)
            self._write_starts(transaction.starts)
            db.executemany(
                "INSERT INTO happening VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (execution, number, at, *_encoded(incoming))
                    for execution, number, at, incoming in transaction.happenings
                ],
            )
            db.executemany(
                "UPDATE execution SET status = ?, summary = ? WHERE id = ?",
                [(end.status, dumps(end.summary), end.id) for end in transaction.endings],
            )
        return True

    def commit(self) -> None:
        """Put what was staged on disk; in any thread, while nothing else is staged."""
        self._db.execute("COMMIT")

    @property
    def full(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self._since_checkpoint >= _CHECKPOINT

    def checkpoint(self) -> None:
        """Move what was committed from the log to the file; in any thread, as `commit`."""
        self._since_checkpoint = 0
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _write_resources(self, resources: dict[str, tuple[str, str | None]]) -> None:
        for arn, (kind, data) in resources.items():
            if data is None:
                self._db.execute("DELETE FROM resource WHERE arn = ?", (arn,))
            else:
                row = (arn, kind, data)
                self._db.execute("INSERT OR REPLACE INTO resource VALUES (?, ?, ?)", row)

    def _write_starts(self, starts: Sequence[tuple[Stored, str]]) -> None:
        for stored, definition in starts:
            if definition not in self._definitions:
                self._definitions.add(definition)
                row = (definition, stored.definition)
                self._db.execute("INSERT OR IGNORE INTO definition VALUES (?, ?)", row)
        self._db.executemany(
            "INSERT INTO execution VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'RUNNING', NULL)",
            [_execution_row(stored, definition) for stored, definition in starts],
        )

    def resources(self, kind: str) -> Iterator[dict[str, Any]]:
        """All state machines, or all activities."""
        query = "SELECT data FROM resource WHERE kind = ?"
        for (data,) in self._reader.execute(query, (kind,)):
            yield json.loads(data)

    def knows(self, arn: str) -> bool:
        """Whether there is an execution of this ARN."""
        found = self._reader.execute("SELECT 1 FROM execution WHERE arn = ?", (arn,)).fetchone()
        return found is not None

    def find(self, arn: str) -> Stored | None:
        """The execution of an ARN."""
        return next(self._stored(_STORED + " WHERE e.arn = ?", (arn,)), None)

    def still_open(self) -> list[Stored]:
        """All executions that did not end, oldest first."""
        return list(self._stored(_STORED + " WHERE e.status = 'RUNNING' ORDER BY e.id", ()))

    def _stored(self, query: str, values: tuple[object, ...]) -> Iterator[Stored]:
        for number, identity, *rest in self._reader.execute(query, values).fetchall():
            yield Stored(number, Identity(**json.loads(identity)), *rest)

    def happenings(self, execution: int) -> list[tuple[int, Incoming]]:
        """All that happened to an execution, with its moments, in order."""
        query = (
            "SELECT at, kind, task, text, more FROM happening WHERE execution = ? ORDER BY number"
        )
        return [
            (at, _decoded(kind, task, text, more))
            for at, kind, task, text, more in self._reader.execute(query, (execution,))
        ]

    def summaries(self, column: str, arn: str) -> dict[str, dict[str, Any]]:
        """The ended executions of a machine or map run, oldest first, by ARN.

        Args:
            column: "machine" or "map_run".
            arn: which.
        """
        query = (
            f"SELECT arn, summary FROM execution WHERE {column} = ?"  # noqa: S608 - one of two names
            " AND summary IS NOT NULL ORDER BY id"
        )
        return {name: json.loads(text) for name, text in self._reader.execute(query, (arn,))}

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
        self._db.close()


_IDENTITY: Final = tuple(Identity.__dataclass_fields__)


def _identity_record(identity: Identity) -> dict[str, Any]:
    return {name: getattr(identity, name) for name in _IDENTITY}


def _execution_row(stored: Stored, definition: str) -> tuple[object, ...]:
    identity = stored.identity
    return (
        stored.id,
        identity.arn,
        identity.machine_arn,
        identity.map_run_arn,
        dumps(_identity_record(identity)),
        definition,
        stored.revision,
        stored.input,
        stored.started,
    )


def _encoded(incoming: Incoming) -> tuple[int, int | None, str | None, str | None]:
    number = _NUMBERS[type(incoming)]
    if isinstance(incoming, commands.TaskSucceeded):
        return number, incoming.task, incoming.output.text, None
    values: list[Any] = list(incoming)
    task = values.pop(0) if _numbered(type(incoming)) else None
    text, more = (*values, None, None)[:2]
    return number, task, text, more


def _decoded(number: int, task: int | None, text: str | None, more: str | None) -> Incoming:
    kind: Callable[..., Incoming] = _KINDS[number]
    if _KINDS[number] is commands.TaskSucceeded:
        return kind(task, Json.parse(text or "null"))
    values = [task, text, more] if _numbered(_KINDS[number]) else [text, more]
    return kind(*values[: len(_FIELDS[_KINDS[number]])])


def _numbered(kind: type[Incoming]) -> bool:
    return _FIELDS[kind][:1] in (("task",), ("timer",))
