"""Ask the model once, under an admitted call, and hold its answer against the contract."""

from typing import Annotated

from pydantic import Field

from autoops.calls import PaidCalls
from autoops.domain.claims import claim_for_request
from autoops.domain.contracts import Contract, Json, Run, plain
from autoops.domain.ledger import CallRecord
from autoops.domain.model import ModelReply, ModelRequest
from autoops.domain.pricing import Usage
from autoops.domain.references import Private
from autoops.domain.structured import Accepted, Rejected, check_stop, correction, is_empty, judge
from autoops.errors import OutputEmpty, OutputRejected
from autoops.gate import Gate
from autoops.ports import ArtifactStore, ChatModel


class Input(Contract):
    """One call.

    Attributes:
        call: call path, admitted before.
        request: what to ask now.
        first: what was asked at first; a correction is written from it, so its size has a bound.
        correction: how many corrections came before this call.
        corrections: how many there may be.
    """

    call: str
    request: Private[ModelRequest]
    first: Private[ModelRequest]
    correction: Annotated[int, Field(ge=0)]
    corrections: Annotated[int, Field(ge=0, le=5)]


class Output(Contract):
    """The judged answer.

    Attributes:
        accepted: the answer holds its contract.
        answer: the contract's fields, None when not accepted.
        again: the request that sends the violations back, None when accepted.
        violations: how many there were.
        cost: nano-dollars charged for this call.
        usage: tokens, None when the reply named none.
    """

    accepted: bool
    answer: Private[Json]
    again: Private[ModelRequest | None]
    violations: int
    cost: int
    usage: Usage | None


def call_model(
    given: Input, run: Run, *, model: ChatModel, gate: Gate, artifacts: ArtifactStore
) -> Output:
    """Make the call at most once and judge its reply; called again it judges the same reply.

    Raises:
        OutputRejected: the last allowed correction did not help.
        OutputEmpty: nor did it bring a word.
        OutputTruncated, ContentBlocked: the reply is no answer, and is paid.
        TryAgain, GiveUp: as `PaidCalls.make`.
    """
    calls = PaidCalls(run, gate, artifacts)
    claim = claim_for_request(given.call, given.request)
    reply, record = calls.make(claim, lambda: model.converse(given.request))
    check_stop(reply)
    verdict = judge(reply, given.request.answer)
    if isinstance(verdict, Accepted):
        return _accepted(verdict, record)
    if given.correction >= given.corrections:
        if is_empty(reply):
            raise OutputEmpty(f"call {given.call}: no word after {given.correction} corrections")
        raise OutputRejected(
            f"call {given.call}: {len(verdict.violations)} violations"
            f" after {given.correction} corrections"
        )
    return _rejected(given, reply, verdict, record)


def _accepted(verdict: Accepted, record: CallRecord) -> Output:
    return Output(
        accepted=True,
        answer=plain(verdict.value),
        again=None,
        violations=0,
        cost=record.cost,
        usage=record.usage,
    )


def _rejected(given: Input, reply: ModelReply, verdict: Rejected, record: CallRecord) -> Output:
    return Output(
        accepted=False,
        answer=None,
        again=correction(given.first, reply, verdict.violations),
        violations=len(verdict.violations),
        cost=record.cost,
        usage=record.usage,
    )
