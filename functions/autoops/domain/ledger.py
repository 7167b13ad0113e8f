"""The ledger's records: a run's money, its admitted calls, what each call cost."""

from datetime import datetime
from enum import StrEnum

from autoops.domain.contracts import Contract, Json, Run
from autoops.domain.pricing import Usage
from autoops.domain.references import Reference


class AdmissionState(StrEnum):
    """Where an admitted call stands: granted, then calling, then one of the three ends."""

    GRANTED = "granted"
    CALLING = "calling"
    SETTLED = "settled"
    LOST = "lost"
    RELEASED = "released"


class Budget(Contract):
    """A run's money in nano-dollars: available + reserved + spent = ceiling, none below 0."""

    ceiling: int
    available: int
    reserved: int
    spent: int


class OpenedRun(Contract):
    """What is known of a run when it opens.

    Attributes:
        execution: ARN of the root execution.
        ceiling: nano-dollars.
    """

    run: Run
    execution: str
    ceiling: int
    opened_at: datetime


class CallClaim(Contract):
    """One model call, before it is made.

    Attributes:
        call: the call path, its identity: `<root>/<state>/<counter>[/<Map index>]/<correction>`.
        fingerprint: SHA-256 of everything that decides the reply; another one is another call.
        model: priced model id.
        worst: nano-dollars that the call cannot pass.
    """

    call: str
    fingerprint: str
    model: str
    worst: int


class Admission(Contract):
    """A claim and where it stands.

    Attributes:
        attempt: number of the latest attempt, 0 before the first.
        lost: attempts whose outcome is unknown, each charged at its worst case.
    """

    claim: CallClaim
    state: AdmissionState
    attempt: int
    lost: tuple[int, ...]


class Begun(Contract):
    """An admission that a worker wants to call under.

    Attributes:
        now: this very worker moved it to calling; False when it was calling or settled before.
    """

    admission: Admission
    now: bool


class CallRecord(Contract):
    """A call that was made and paid: the idempotency record of its path and fingerprint.

    Attributes:
        attempt: the attempt whose reply counts.
        reply: key of the reply in the artifact store.
        cost: nano-dollars charged for this attempt; lost attempts come on top.
        estimated: the reply named no usage, so the worst case was charged.
    """

    call: str
    fingerprint: str
    model: str
    prompt: str
    attempt: int
    reply: str
    usage: Usage | None
    cost: int
    estimated: bool


class StepRecord(Contract):
    """One attempt at one step, without any of its data.

    Attributes:
        name: the state's name.
        function: Lambda function name and version.
        input_hash: SHA-256 of the step's input as it stood in the payload.
        output: the output as it stands in the history: references in place of private values.
        error: class name of the error, None when the step returned.
    """

    name: str
    request: str
    function: str
    attempt: int
    map_index: int | None
    started_at: datetime
    ended_at: datetime
    input_hash: str
    output: Json
    error: str | None


class RunView(Contract):
    """A run as its ledger tells it."""

    opened: OpenedRun
    status: str
    error: str | None
    outcome: str | None
    result: Reference | None
    budget: Budget
    calls: tuple[CallRecord, ...]
    admissions: tuple[Admission, ...]
    steps: tuple[StepRecord, ...]
