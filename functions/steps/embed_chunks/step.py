"""Turn the chunks of a batch into vectors, under an admitted call."""

from typing import Annotated, Final

from pydantic import Field

from autoops.calls import PaidCalls
from autoops.domain.claims import claim_for_texts
from autoops.domain.contracts import Contract, Run
from autoops.domain.references import Private
from autoops.domain.vectors import Vectors
from autoops.embedding import embedded
from autoops.gate import Gate
from autoops.ports import ArtifactStore, Embedder

TEXTS: Final = 2_000
"""More are not embedded within the function's timeout, one request each."""


class Input(Contract):
    """The texts of the chunks and the call path that was admitted for them."""

    call: str
    texts: Private[Annotated[tuple[str, ...], Field(max_length=TEXTS)]]


class Output(Contract):
    """One vector per text, in order."""

    vectors: Private[Vectors]


def embed_chunks(
    given: Input, run: Run, *, embedder: Embedder, gate: Gate, artifacts: ArtifactStore
) -> Output:
    """Embed the texts; called again it returns the vectors that were paid for.

    Raises:
        TryAgain, GiveUp: as `PaidCalls.make`.
    """
    calls = PaidCalls(run, gate, artifacts)
    claim = claim_for_texts(given.call, embedder.model, given.texts)
    return Output(vectors=embedded(calls, claim, embedder, given.texts))
