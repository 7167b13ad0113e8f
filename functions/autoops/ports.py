"""What steps need from the outside, as protocols; adapters fulfil them on AWS, fakes in tests."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from autoops.domain.contracts import Json, Run
from autoops.domain.ledger import (
    Admission,
    Begun,
    CallClaim,
    CallRecord,
    OpenedRun,
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


class Ledger(Protocol):
    """Runs, their money and their calls; every change of money is one transaction."""

    def open_run(self, opened: OpenedRun) -> OpenedRun:
        """Write run and budget, once: opened again by the same execution it returns what stands.

        Raises:
            InvalidInput: another execution has opened this run.
        """
        ...

    def admit(self, run: Run, claim: CallClaim) -> Admission:
        """Reserve the claim's worst case; an admission that stands is returned as it is.

        Raises:
            BudgetExceeded, RunStopped, InvalidInput, DependencyUnavailable: nothing is reserved.
        """
        ...

    def begin(self, run: Run, claim: CallClaim) -> Begun:
        """Move a granted admission to calling; one that is calling or settled is returned as it is.

        Raises:
            AdmissionLost: there is none for this call and fingerprint.
        """
        ...

    def repeat(self, run: Run, admission: Admission) -> Admission:
        """Charge the lost attempt its worst case and reserve another; the next attempt's number.

        Raises:
            BudgetExceeded: no money for another; the lost one is charged all the same.
            CallInProgress: another worker was faster.
        """
        ...

    def lose(self, run: Run, admission: Admission) -> None:
        """Charge the unknown attempt its worst case and end the admission as lost."""
        ...

    def settle(self, run: Run, admission: Admission, record: CallRecord) -> None:
        """Replace the reservation by the actual cost and write the call record.

        A settle that comes after its attempt was charged as lost replaces worst by actual.

        Raises:
            CallInProgress: the attempt was taken over; its cost is counted, its reply is not.
        """
        ...

    def uncharge(self, run: Run, admission: Admission) -> None:
        """The attempt was refused without charge: back to granted, money still reserved."""
        ...

    def release(self, run: Run, admission: Admission) -> None:
        """Give the reservation back; the call will not be made."""
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

    def close_run(self, root: str, status: str, error: str | None, at: datetime) -> bool:
        """Write how the run ended; False when no run of that root is open.

        Args:
            root: the run's root.
            status: SUCCEEDED, FAILED, TIMED_OUT or ABORTED.
            error: what Step Functions says; an error that a step noted comes before it.
            at: when it ended.
        """
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

    def succeed(self, token: str, output: Json) -> None:
        """Answer a task token; one that is gone does not matter."""
        ...


class Events(Protocol):
    """The event bus."""

    def publish(self, kind: str, detail: Json) -> None:
        """Put one event, such as "run.completed"; the detail names things and holds no content."""
        ...
