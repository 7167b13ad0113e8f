"""The edges of AutoOps in memory: every port of `autoops.ports`, for tests of what lies between.

Nothing here imports an adapter or opens a socket. Faults are scripted at the edge: see `watching`,
and a model's script may hold exceptions.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

from autoops.domain.contracts import Json, plain, to_json
from autoops.domain.model import ModelReply, ModelRequest
from autoops.domain.passages import (
    DocumentState,
    DocumentText,
    EmbeddedChunk,
    Embeddings,
    Passage,
)
from autoops.domain.pricing import Usage
from autoops.domain.references import Reference, artifact_key
from autoops.domain.vectors import Vectors
from autoops.errors import InvalidInput
from watching import Killed, Watched, killed, raising, watched

__all__ = [
    "NOON",
    "FakeArtifacts",
    "FakeCatalogue",
    "FakeContext",
    "FakeCounter",
    "FakeDocuments",
    "FakeEmbedder",
    "FakeEvents",
    "FakeIndex",
    "FakeModel",
    "FakeOnce",
    "FakeWorkflows",
    "FixedClock",
    "Killed",
    "Said",
    "canaries",
    "killed",
    "raising",
    "sample_event",
    "text",
    "tool",
]

EVENTS: Final = Path(__file__).parent / "events"
NOON: Final = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


def sample_event(step: str, case: str = "ok") -> Json:
    """The event file of a step, read anew."""
    return json.loads((EVENTS / step / f"{case}.json").read_text("utf-8"))


@dataclass
class FixedClock:
    """`autoops.ports.Clock` that stands still until it is moved."""

    time: datetime = NOON

    def now(self) -> datetime:
        return self.time

    def advance(self, by: timedelta) -> None:
        self.time += by


@dataclass
class FakeContext:
    """Lambda's context object."""

    aws_request_id: str = "request-1"
    remaining: int = 30_000

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining


@dataclass
class FakeArtifacts(Watched):
    """`autoops.ports.ArtifactStore` in memory, as JSON text, so nothing is shared by reference."""

    values: dict[str, str] = field(default_factory=dict)

    @watched
    def put(self, tenant: str, value: Json) -> Reference:
        text = to_json(value)
        key = artifact_key(tenant, text.encode())
        self.values[key] = text
        return Reference(artifact=key, bytes=len(text.encode()))

    @watched
    def get(self, tenant: str, reference: Reference) -> Json:
        if not reference.artifact.startswith(f"{tenant}/"):
            raise InvalidInput("artifact: belongs to another tenant")
        if reference.artifact not in self.values:
            raise InvalidInput(f"artifact: {reference.artifact} is gone")
        return json.loads(self.values[reference.artifact])

    @watched
    def keep_reply(self, key: str, reply: ModelReply) -> None:
        self.values[key] = to_json(reply)

    @watched
    def reply(self, key: str) -> ModelReply | None:
        text = self.values.get(key)
        return None if text is None else ModelReply.model_validate_json(text)

    @classmethod
    def of_samples(cls) -> Self:
        """The values that the references in `tests/events` stand for."""
        store = cls()
        for key, value in json.loads((EVENTS / "artifacts.json").read_text("utf-8")).items():
            assert store.put(key.split("/")[0], value).artifact == key, key
        return store

    def value(self, payload: Json) -> Json:
        """What the JSON form of a reference stands for."""
        return json.loads(self.values[Reference.read(payload).artifact])


Said = ModelReply | BaseException | Callable[[ModelRequest], ModelReply]


@dataclass
class FakeModel:
    """`autoops.ports.ChatModel` that follows a script.

    Attributes:
        script: what it says, call by call: a reply, an exception to raise, or a function.
        requests: what it was asked.
    """

    script: list[Said] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)

    def converse(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        assert self.script, "the model was asked more often than its script says"
        said = self.script.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, ModelReply) else said(request)


TOKENS: Final = Usage(input=1_000, output=200)


def tool(value: Json, *, stop_reason: str = "tool_use", usage: Usage | None = TOKENS) -> ModelReply:
    """A reply that calls the answer tool with the value."""
    return ModelReply(stop_reason=stop_reason, text="", tool_input=value, usage=usage)


def text(said: str, *, stop_reason: str = "end_turn", usage: Usage | None = TOKENS) -> ModelReply:
    """A reply in plain text."""
    return ModelReply(stop_reason=stop_reason, text=said, usage=usage)


@dataclass
class FakeCounter:
    """`autoops.ports.TokenCounter` that tells a number, or cannot tell."""

    tokens: int | None = None

    def count(self, request: ModelRequest) -> int | None:  # noqa: ARG002  # the port's
        return self.tokens


@dataclass
class FakeEmbedder:
    """`autoops.ports.Embedder`: equal texts have equal vectors, none of them zero.

    Attributes:
        script: exceptions to raise, call by call; None lets the call pass.
        texts: what it embedded, call by call.
    """

    model: str = "amazon.titan-embed-text-v2:0"
    dimensions: int = 8
    script: list[BaseException | None] = field(default_factory=list)
    texts: list[tuple[str, ...]] = field(default_factory=list)
    counted: bool = True

    def embed(self, texts: Sequence[str]) -> Embeddings:
        self.texts.append(tuple(texts))
        error = self.script.pop(0) if self.script else None
        if error is not None:
            raise error
        usage = Usage(input=sum(len(each.split()) for each in texts)) if self.counted else None
        return Embeddings(vectors=Vectors.pack([self.vector(each) for each in texts]), usage=usage)

    def vector(self, said: str) -> tuple[float, ...]:
        """Counts of the words, each word in the place its hash says."""
        counts = [1e-3] * self.dimensions
        for word in said.casefold().split():
            counts[hashlib.sha256(word.encode()).digest()[0] % self.dimensions] += 1.0
        return tuple(counts)


@dataclass
class FakeIndex(Watched):
    """`autoops.ports.VectorIndex` by cosine."""

    held: dict[str, EmbeddedChunk] = field(default_factory=dict)

    @watched
    def put(self, chunks: Sequence[EmbeddedChunk]) -> None:
        self.held |= {embedded.chunk.key: embedded for embedded in chunks}

    @watched
    def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.held.pop(key, None)

    @watched
    def query(
        self,
        tenant: str,
        text: str,  # noqa: ARG002  # the port's; this index ranks by vector alone
        vector: Sequence[float],
        most: int,
    ) -> tuple[Passage, ...]:
        own = [held for key, held in self.held.items() if key.startswith(f"{tenant}/")]
        best = sorted(own, key=lambda held: (-_cosine(held.vector, vector), held.chunk.key))
        return tuple(
            Passage(id=f"p{number}", chunk=held.chunk, score=_cosine(held.vector, vector))
            for number, held in enumerate(best[:most], start=1)
        )


@dataclass
class FakeCatalogue(Watched):
    """`autoops.ports.Catalogue` in memory."""

    keys: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    @watched
    def chunk_keys(self, tenant: str, documents: Sequence[str]) -> Mapping[str, frozenset[str]]:
        return {name: self.keys.get((tenant, name), frozenset()) for name in documents}

    @watched
    def keep_chunks(self, tenant: str, keys: Mapping[str, Sequence[str]]) -> None:
        self.keys |= {(tenant, name): frozenset(kept) for name, kept in keys.items()}


@dataclass
class FakeWorkflows(Watched):
    """`autoops.ports.Workflows` that remembers what it was told.

    Attributes:
        answered: tokens that succeeded, and with what.
        failed: tokens that failed, and with which error.
        gone: tokens that nobody waits for any more.
        running: redrive counts of the executions that run.
        ended: redrive counts of the executions that failed or were stopped.
        stopped: executions that were ended, and with which error.
    """

    answered: list[tuple[str, Json]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    running: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    stopped: list[tuple[str, str]] = field(default_factory=list)

    @watched
    def succeed(self, token: str, output: Json) -> bool:
        if token in self.gone:
            return False
        self.gone.add(token)
        self.answered.append((token, plain(output)))
        return True

    @watched
    def fail(self, token: str, error: str, cause: str) -> bool:  # noqa: ARG002  # the port's
        if token in self.gone:
            return False
        self.gone.add(token)
        self.failed.append((token, error))
        return True

    @watched
    def redrive_running(self, execution: str) -> int | None:
        return self.running.get(execution)

    @watched
    def stop(self, execution: str, error: str, cause: str) -> None:  # noqa: ARG002  # the port's
        if execution in self.running:
            self.ended[execution] = self.running.pop(execution)
            self.stopped.append((execution, error))

    @watched
    def redrive(self, execution: str) -> None:
        if execution not in self.ended:
            raise InvalidInput("run: its execution cannot be redriven")
        self.running[execution] = self.ended.pop(execution) + 1


@dataclass
class FakeEvents(Watched):
    """`autoops.ports.Events` that remembers what was published."""

    published: list[tuple[str, Json]] = field(default_factory=list)

    @watched
    def publish(self, kind: str, detail: Json) -> None:
        self.published.append((kind, plain(detail)))


@dataclass
class FakeDocuments:
    """`autoops.ports.Documents` from texts by tenant and key."""

    texts: dict[tuple[str, str], DocumentText] = field(default_factory=dict)
    sizes: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, tenant: str, key: str, *pages: str, size: int | None = None) -> None:
        """Put a readable document."""
        self.texts[tenant, key] = DocumentText(
            document=key, title=Path(key).stem, state=DocumentState.OK, pages=pages
        )
        self.sizes[tenant, key] = size if size is not None else sum(map(len, pages))

    def list(self, tenant: str, prefix: str) -> tuple[tuple[str, int], ...]:
        return tuple(
            (key, self.sizes[owner, key])
            for owner, key in sorted(self.texts)
            if owner == tenant and key.startswith(prefix)
        )

    def read(self, tenant: str, key: str) -> DocumentText:
        gone = DocumentText(
            document=key,
            title=key,
            state=DocumentState.SKIPPED_DELETED,
            problem="no longer there",
        )
        return self.texts.get((tenant, key), gone)


@dataclass
class FakeOnce:
    """Idempotency in memory: `autoops.adapters.idempotency.run_once`.

    Attributes:
        records: JSON text of the results by identity.
    """

    records: dict[str, str] = field(default_factory=dict)

    def __call__(self, identity: str, work: Callable[[], Json], context: Any) -> Json:  # noqa: ARG002
        if identity not in self.records:
            self.records[identity] = to_json(work())
        return json.loads(self.records[identity])


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    length = math.hypot(*left) * math.hypot(*right)
    return sum(a * b for a, b in zip(left, right, strict=True)) / length if length else 0.0


def canaries(value: Iterable[str], *places: str | Mapping[str, Any]) -> list[str]:
    """The private words that show up in a place where they must not."""
    seen = "\n".join(place if isinstance(place, str) else json.dumps(place) for place in places)
    return [word for word in value if word in seen]
