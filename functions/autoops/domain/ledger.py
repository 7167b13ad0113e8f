"""The ledger's records: a run's money, its admitted calls, what each call cost."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from autoops.domain.admissions import Admission
from autoops.domain.contracts import Contract, Json, Run
from autoops.domain.pricing import Usage
from autoops.domain.references import Reference

SOFT_LIMIT_PERCENT: Final = 80
"""Of the ceiling; a run that has spent more is announced once."""


class OnBudget(StrEnum):
    """What a call does that its run's money does not cover: end the run, or wait for more."""

    STOP = "stop"
    ASK = "ask"


class OnUnknown(StrEnum):
    """What becomes of a call whose outcome is unknown: make it again, or fail."""

    REPEAT = "repeat"
    FAIL = "fail"


class Budget(Contract):
    """A run's money in nano-dollars: available + reserved + spent = ceiling + over, none below 0.

    Attributes:
        over: what calls cost above their worst case; any of it stops the run.
        warned: the soft limit was passed.
    """

    ceiling: int
    available: int
    reserved: int
    spent: int
    over: int = 0
    warned: bool = False


class OpenedRun(Contract):
    """What is known of a run when it opens.

    Attributes:
        execution: ARN of the root execution.
        ceiling: nano-dollars.
        on_budget: what a call does that the money does not cover.
        on_unknown: what becomes of a call whose outcome is unknown.
    """

    run: Run
    execution: str
    ceiling: int
    opened_at: datetime
    on_budget: OnBudget = OnBudget.STOP
    on_unknown: OnUnknown = OnUnknown.REPEAT


class RunState(Contract):
    """Where a run stands.

    Attributes:
        status: RUNNING or how it ended.
        redrive: how often its execution was redriven, as far as is known.
    """

    opened: OpenedRun
    status: str
    paused: bool
    stopped: bool
    redrive: int


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


class RunView(RunState):
    """A run as its ledger tells it."""

    error: str | None
    outcome: str | None
    result: Reference | None
    budget: Budget
    calls: tuple[CallRecord, ...]
    admissions: tuple[Admission, ...]
    steps: tuple[StepRecord, ...]
