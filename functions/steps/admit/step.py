"""Admit a call: reserve its worst case from the run's budget before anything is spent."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from autoops.domain.claims import claim_for_request, claim_for_texts
from autoops.domain.contracts import Contract, Run
from autoops.domain.ledger import CallClaim
from autoops.domain.model import ModelRequest
from autoops.domain.references import Private
from autoops.errors import AdmissionLost
from autoops.ports import Ledger, Workflows

READMISSIONS: Final = 6


class Input(Contract):
    """The call that asks to be admitted.

    Attributes:
        call: call path.
        token: task token of the waiting state; answered when the call is granted.
        again: how often the admission of this call was lost before.
        request: the question to a model, or
        texts: the texts to embed.
    """

    call: str
    token: str
    again: Annotated[int, Field(ge=0, le=READMISSIONS + 1)] = 0
    request: Private[ModelRequest | None] = None
    texts: Private[tuple[str, ...] | None] = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.request is None) == (self.texts is None):
            raise ValueError("give either request or texts")
        return self


class Output(Contract):
    """The admitted call.

    Attributes:
        worst: nano-dollars reserved.
    """

    call: str
    worst: int


def admit(
    given: Input, run: Run, ledger: Ledger, workflows: Workflows, embedding_model: str
) -> Output:
    """Reserve, then answer the token; asked again for the same call it answers again.

    Raises:
        AdmissionLost: the call lost its admission too often.
        BudgetExceeded, RunStopped, UnpricedModel: nothing is reserved and no call is made.
        DependencyUnavailable: the ledger did not answer; no call is made.
    """
    if given.again > READMISSIONS:
        raise AdmissionLost(f"call {given.call}: admission lost {given.again} times")
    admission = ledger.admit(run, _claim(given, embedding_model))
    granted = Output(call=given.call, worst=admission.claim.worst)
    workflows.succeed(given.token, granted.model_dump())
    return granted


def _claim(given: Input, embedding_model: str) -> CallClaim:
    if given.request is not None:
        return claim_for_request(given.call, given.request)
    return claim_for_texts(given.call, embedding_model, given.texts or ())
