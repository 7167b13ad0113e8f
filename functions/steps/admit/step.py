"""Admit a call: reserve its worst case and its place before anything is spent, or let it wait."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from autoops.domain.admissions import AdmissionState, Asker, CallClaim
from autoops.domain.claims import claim_for_request, claim_for_texts
from autoops.domain.contracts import Contract, PerRedrive, Run
from autoops.domain.model import ModelRequest
from autoops.domain.references import Private
from autoops.errors import AdmissionLost, ModelThrottled
from autoops.gate import Gate
from autoops.ports import TokenCounter

READMISSIONS: Final = 6
"""So often a call may lose its admission, and so often the model may refuse it for rate; a redrive
allows one more."""


class Input(Contract):
    """The call that asks to be admitted.

    Attributes:
        call: call path.
        token: task token of the waiting state; answered when the call is let in.
        execution: ARN of the execution that waits.
        redrive: its redrive count.
        since: when the state was entered, and how often it was redriven and retried since.
        again: how often the admission of this call was lost before.
        throttled: how often the model refused this call for rate before.
        request: the question to a model, or
        texts: the texts to embed.
    """

    call: str
    token: str
    execution: str
    redrive: Annotated[int, Field(ge=0)] = 0
    since: str = ""
    again: Annotated[int, Field(ge=0), PerRedrive(READMISSIONS)] = 0
    throttled: Annotated[int, Field(ge=0), PerRedrive(READMISSIONS)] = 0
    request: Private[ModelRequest | None] = None
    texts: Private[tuple[str, ...] | None] = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.request is None) == (self.texts is None):
            raise ValueError("give either request or texts")
        return self


class Output(Contract):
    """The call and where it stands; the state goes on when its token is answered.

    Attributes:
        worst: nano-dollars that the call may cost.
        state: waiting, or how far it is.
    """

    call: str
    worst: int
    state: AdmissionState


def admit(
    given: Input, run: Run, gate: Gate, counter: TokenCounter, embedding_model: str
) -> Output:
    """Let the call in and answer the token, or let it wait; asked again it keeps its place.

    Raises:
        AdmissionLost: the call lost its admission too often.
        ModelThrottled: the model refused it for rate too often.
        BudgetExceeded, RunStopped, UnpricedModel: nothing is reserved and no call is made.
        DependencyUnavailable: the ledger did not answer; no call is made.
    """
    if given.again > READMISSIONS + given.redrive:
        raise AdmissionLost(f"call {given.call}: admission lost {given.again} times")
    if given.throttled > READMISSIONS + given.redrive:
        raise ModelThrottled(f"call {given.call}: refused for rate {given.throttled} times")
    claim = _claim(given, counter, embedding_model)
    asker = Asker(
        execution=given.execution, redrive=given.redrive, since=given.since, token=given.token
    )
    admission = gate.ask(run, claim, asker)
    if admission.state is not AdmissionState.WAITING:
        gate.tell(admission)
    return Output(call=given.call, worst=claim.worst, state=admission.state)


def _claim(given: Input, counter: TokenCounter, embedding_model: str) -> CallClaim:
    if given.request is not None:
        return claim_for_request(given.call, given.request, counter.count(given.request))
    return claim_for_texts(given.call, embedding_model, given.texts or ())
