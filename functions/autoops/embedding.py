"""Embedding as a paid call: the vectors are the reply, kept and settled like any other."""

from collections.abc import Sequence

from autoops.calls import PaidCalls
from autoops.domain.admissions import CallClaim
from autoops.domain.contracts import plain
from autoops.domain.model import ModelReply
from autoops.domain.vectors import Vectors
from autoops.errors import ModelMisconfigured
from autoops.ports import Embedder


def embedded(
    calls: PaidCalls, claim: CallClaim, embedder: Embedder, texts: Sequence[str]
) -> Vectors:
    """One vector per text, in order, under an admitted call.

    Raises:
        ModelMisconfigured: the vectors are not of the length that the index has; they are paid.
        TryAgain, GiveUp: as `PaidCalls.make`.
    """

    def call() -> ModelReply:
        made = embedder.embed(texts)
        return ModelReply(
            stop_reason="end_turn", text="", tool_input=plain(made.vectors), usage=made.usage
        )

    reply, _ = calls.make(claim, call)
    vectors = Vectors.read(reply.tool_input)
    if vectors.dimensions != embedder.dimensions or len(vectors.rows()) != len(texts):
        raise ModelMisconfigured(
            f"embedding model {embedder.model}: expected {len(texts)} vectors"
            f" of {embedder.dimensions} dimensions; check EMBEDDING_DIMENSIONS"
        )
    return vectors
