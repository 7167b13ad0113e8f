"""Embedding as a paid call: the vectors are the reply, kept and settled like any other."""

from collections.abc import Sequence

from autoops.calls import PaidCalls
from autoops.domain.contracts import plain
from autoops.domain.ledger import CallClaim
from autoops.domain.model import ModelReply
from autoops.domain.vectors import Vectors
from autoops.ports import Embedder


def embedded(
    calls: PaidCalls, claim: CallClaim, embedder: Embedder, texts: Sequence[str]
) -> Vectors:
    """One vector per text, in order, under an admitted call.

    Raises:
        TryAgain, GiveUp: as `PaidCalls.make`.
    """

    def call() -> ModelReply:
        made = embedder.embed(texts)
        return ModelReply(
            stop_reason="end_turn", text="", tool_input=plain(made.vectors), usage=made.usage
        )

    reply, _ = calls.make(claim, call)
    return Vectors.read(reply.tool_input)
