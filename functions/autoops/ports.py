"""What steps need from the outside, as protocols; adapters fulfil them on AWS, fakes in tests."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from autoops.domain.admissions import (
    Admission,
    Answer,
    Asker,
    Begun,
    CallClaim,
    Refused,
    Settled,
    Wait,
)
from autoops.domain.contracts import Json, Run
from autoops.domain.ledger import (
    CallRecord,
    OpenedRun,
    RunState,
    StepRecord,
)
from autoops.domain.model import ModelReply, ModelRequest
from autoops.domain.passages import DocumentText, EmbeddedChunk, Embeddings, Passage
from autoops.domain.references import Reference


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The time in UTC, aware."""
        ...


class ChatModel(Protocol):
    """A model that answers a request."""

    def converse(self, request: ModelRequest) -> ModelReply:
        """Make exactly one call.

        Raises:
            TryAgain, GiveUp: mapped from what the provider said; only `ModelTimedOut` and
                `ModelFaulted` leave open whether the call was charged.
        """
        ...


class TokenCounter(Protocol):
    """Tells ahead how long a request is."""

    def count(self, request: ModelRequest) -> int | None:
        """Input tokens as they will be charged, None where the provider cannot tell."""
        ...


class Embedder(Protocol):
    """A model that turns text into vectors."""

    @property
    def model(self) -> str:
        """Its priced model id."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """One vector per text, in order.

        Raises:
            TryAgain, GiveUp: as `ChatModel.converse`.
        """
        ...


class VectorIndex(Protocol):
    """Finds the chunks nearest to a question."""

    def put(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Add chunks or replace those of the same key."""
        ...

    def delete(self, keys: Sequence[str]) -> None:
        """Remove chunks; unknown keys do not matter."""
        ...

    def query(
        self, tenant: str, text: str, vector: Sequence[float], most: int
    ) -> tuple[Passage, ...]:
        """The tenant's best chunks for text and vector together, best first, at most `most`."""
        ...


class Documents(Protocol):
    """The bucket that documents are put into."""

    def list(self, tenant: str, prefix: str) -> tuple[tuple[str, int], ...]:
        """Key below the tenant's prefix and size in bytes of each document, folders left out."""
        ...

    def read(self, tenant: str, key: str) -> DocumentText:
        """The document's text, or why there is none; a bad document is no error."""
        ...


class ArtifactStore(Protocol):
    """Keeps values that travel by reference, and replies."""

    def put(self, tenant: str, value: Json) -> Reference:
        """Keep a JSON value under its hash."""
        ...

    def get(self, tenant: str, reference: Reference) -> Json:
        """The value, checked against its hash.

        Raises:
            InvalidInput: the reference is another tenant's, or the content does not match.
        """
        ...

    def keep_reply(self, key: str, reply: ModelReply) -> None:
        """Keep a reply under the key of its attempt, before it is settled."""
        ...

    def reply(self, key: str) -> ModelReply | None:
        """The reply of an attempt, None when none was kept."""
        ...


class Admissions(Protocol):
    """Where calls stand: every move is one transaction that moves state, money and slot together.

    A move returns False when the admission does not stand as it was seen: another move came first.
    """

    def grant(self, wanted: Admission, now: datetime, freed: int | None = None) -> Answer:
        """Let a call in, if its run goes on, its money reaches and its model's limits have room.

        Args:
            wanted: a new admission, or one that waits, as it was read.
            now: which minute it counts to.
            freed: shard that is known to have a slot, None for no idea.
        """
        ...

    def park(self, wanted: Admission, wait: Wait) -> bool:
        """Let a call wait; for money or while paused only if the reason still stands."""
        ...

    def unpark(self, waiting: Admission) -> bool:
        """The call that waits will not be made."""
        ...

    def ask_again(self, standing: Admission, asker: Asker) -> bool:
        """Answer somebody else from now on; the call keeps its place, its money and its slot."""
        ...

    def begin(self, run: Run, claim: CallClaim, until: datetime) -> Begun | None:
        """Move a granted call to calling, leased until then; None when it has to be asked for."""
        ...

    def renew(self, calling: Admission, until: datetime) -> bool:
        """Move the end of the lease."""
        ...

    def repeat(self, calling: Admission, until: datetime) -> Admission | Refused:
        """Charge the attempt whose lease ended its worst case and reserve another, slot kept."""
        ...

    def uncharge(self, calling: Admission) -> bool:
        """The attempt was refused without charge: back to granted, if the run goes on."""
        ...

    def settle(self, calling: Admission, record: CallRecord) -> Settled:
        """Replace the reservation by the cost, write the call record, free the slot."""
        ...

    def settle_late(self, standing: Admission, given_up: Admission, record: CallRecord) -> bool:
        """Replace what was charged for an attempt given up by what it did cost.

        Args:
            standing: the admission as it stands.
            given_up: as the worker of that attempt knows it.
            record: of the attempt.
        """
        ...

    def recover(self, calling: Admission, record: CallRecord, *, made: bool) -> bool:
        """Settle by the reply of an attempt given up.

        Args:
            calling: as it was seen.
            record: of the attempt given up.
            made: the present attempt may have been made, so it is charged its worst case.
        """
        ...

    def lose(self, calling: Admission) -> bool:
        """Charge the attempt its worst case and end the call without an outcome."""
        ...

    def release(self, held: Admission) -> bool:
        """Give money and slot back; the call will not be made."""
        ...

    def standing(self, purse: str, call: str) -> Admission | None:
        """The admission of a call path, by where the money of its run lies."""
        ...

    def of_run(self, root: str) -> Iterator[Admission]:
        """Every admission of a run and of the slices of its money."""
        ...

    def open(self) -> Iterator[Admission]:
        """Every admission that has not ended, of all runs; what it says may be a moment old."""
        ...

    def next_in_line(self, model: str) -> Admission | None:
        """The call that waits for a slot and has its turn: tenants in a circle, oldest first."""
        ...


class Ledger(Protocol):
    """Runs and what became of them."""

    def open_run(self, opened: OpenedRun) -> OpenedRun:
        """Write run and budget, once: opened again by the same execution it returns what stands.

        Raises:
            InvalidInput: another execution has opened this run.
        """
        ...

    def run_state(self, root: str) -> RunState | None:
        """Where the run stands, None when it never opened."""
        ...

    def pause(self, root: str, *, paused: bool) -> bool:
        """Let no call in, or let them in again; False when no run of that root is open."""
        ...

    def stop(self, root: str) -> bool:
        """Let no call in ever again; False when there is no such run."""
        ...

    def raise_ceiling(self, root: str, by: int, most: int) -> bool:
        """Add nano-dollars to the ceiling; False when it would be above the most."""
        ...

    def open_slice(self, run: Run, name: str, amount: int) -> Run:
        """Set nano-dollars aside for a part of a run, such as a batch of a fan-out, once.

        Calls made with the run that is returned reserve from the slice and touch nothing of the
        whole run's, so wide fan-outs do not meet at one item.

        Raises:
            BudgetExceeded, RunStopped: nothing is set aside.
        """
        ...

    def close_slice(self, run: Run) -> bool:
        """Give what a slice did not spend back; False while calls of it are under way."""
        ...

    def slices(self, root: str) -> tuple[str, ...]:
        """The names of the slices of a run that are not closed."""
        ...

    def call_record(self, run: Run, call: str) -> CallRecord | None:
        """The settled call of that path."""
        ...

    def record_step(self, run: Run, step: StepRecord) -> None:
        """Add one attempt at one step to the run's record."""
        ...

    def note_error(self, run: Run, error: str) -> None:
        """Write which error a step gave up with; the run's own end may name another."""
        ...

    def keep_result(self, run: Run, outcome: str, result: Reference) -> None:
        """Write the run's outcome and where its result lies; the same again changes nothing."""
        ...

    def close_run(
        self, root: str, status: str, error: str | None, at: datetime, redrive: int
    ) -> bool:
        """Write how the run ended; False when that is known already or there is no such run.

        Args:
            root: the run's root.
            status: SUCCEEDED, FAILED, TIMED_OUT or ABORTED.
            error: what Step Functions says; an error that a step noted comes before it.
            at: when it ended.
            redrive: how often it was redriven; the end before a redrive never undoes that redrive.
        """
        ...

    def reopen(self, root: str, redrive: int) -> bool:
        """The run goes on after a redrive; False when it was stopped, or reopened before."""
        ...


class Catalogue(Protocol):
    """Which chunks the vector index holds of each document."""

    def chunk_keys(self, tenant: str, documents: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """Keys of the chunks that the index holds of each document."""
        ...

    def keep_chunks(self, tenant: str, keys: Mapping[str, Sequence[str]]) -> None:
        """Remember which chunks the index holds, by document."""
        ...


class Workflows(Protocol):
    """Step Functions, as a step sees it."""

    def succeed(self, token: str, output: Json) -> bool:
        """Answer a task token; False when nobody waits for it any more."""
        ...

    def fail(self, token: str, error: str, cause: str) -> bool:
        """Fail the state that waits for a task token; False when nobody does any more."""
        ...

    def redrive_running(self, execution: str) -> int | None:
        """The redrive count of an execution that is running, None when it is not."""
        ...

    def stop(self, execution: str, error: str, cause: str) -> None:
        """End an execution; one that has ended does not matter."""
        ...

    def redrive(self, execution: str) -> None:
        """Go on with an execution that failed, from the state that failed.

        Raises:
            InvalidInput: it cannot be redriven, and why.
        """
        ...


class Events(Protocol):
    """The event bus."""

    def publish(self, kind: str, detail: Json) -> None:
        """Put one event, such as "run.completed"; the detail names things and holds no content."""
        ...
