"""Small models of the state machines, as Step Functions runs them: ask-model, its parents, redrive.

A branch asks one question after another, each with corrections; the branches of an execution are
parallel, and one that fails ends them all. What an invocation does after its state gave it up is
nobody's business, but it goes on doing it.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from autoops.domain.admissions import CallClaim
from autoops.domain.contracts import Run
from gate_proof.scheduler import Process

CORRECTIONS: Final = 2
READMISSIONS: Final = 6

LATER: Final = "later"
UNKNOWN: Final = "unknown"
BUSY: Final = "busy"
RETRIES: Final = {
    "ModelUnavailable": LATER,
    "DependencyUnavailable": LATER,
    "Lambda.Unknown": LATER,
    "ModelTimedOut": UNKNOWN,
    "ModelFaulted": UNKNOWN,
    "Runtime.ExitError": UNKNOWN,
    "States.Timeout": UNKNOWN,
    "CallInProgress": BUSY,
}
MOST: Final = {LATER: 3, UNKNOWN: 2, BUSY: 6}
SECONDS: Final = {LATER: (1.0, 2.0), UNKNOWN: (2.0, 2.0), BUSY: (15.0, 1.5)}


class At(StrEnum):
    """The state that a branch is at."""

    ADMIT = "Admit"
    CALL = "CallModel"
    DONE = "done"


@dataclass(eq=False)
class Execution:
    """An execution of a root or a child machine; a child's `parent` is its root's."""

    arn: str
    run: Run
    parent: "Execution | None" = None
    redrive: int = 0
    status: str = "RUNNING"

    @property
    def running(self) -> bool:
        return self.status == "RUNNING"


@dataclass(eq=False)
class Branch:
    """One path through ask-model, question after question.

    Attributes:
        token: the task token that it waits for, None when it does not.
        invocation: the process that it waits for.
        not_before: when its next state may begin.
        entered: number of the state, in place of the time when it was entered.
    """

    name: str
    execution: Execution
    claims: list[list[CallClaim]]
    question: int = 0
    correction: int = 0
    again: int = 0
    throttled: int = 0
    at: At = At.ADMIT
    failed: bool = False
    token: str | None = None
    invocation: Process | None = None
    not_before: datetime | None = None
    entered: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    """So often the present state was retried, by what went wrong."""

    @property
    def claim(self) -> CallClaim:
        return self.claims[self.question][self.correction]

    @property
    def ended(self) -> bool:
        return self.failed or self.at is At.DONE

    def can_go(self, now: datetime) -> bool:
        """Whether it may begin an invocation now."""
        free = self.invocation is None and self.token is None and not self.ended
        due = self.not_before is None or self.not_before <= now
        return self.execution.running and free and due

    def enter(self, state: At) -> None:
        """Go to another state, with its retries anew."""
        self.at, self.token, self.invocation, self.not_before = state, None, None, None
        self.entered += 1
        self.retries.clear()

    @property
    def since(self) -> str:
        """What Admit is told of when it asks."""
        retried = sum(self.retries.values())
        return f"{self.entered:04}/{self.execution.redrive:04}/{retried:02}"

    def accepted(self, *, good: bool) -> None:
        """The answer of a call holds its contract, or is sent back."""
        if not good and self.correction < CORRECTIONS:
            self.correction += 1
            self.enter(At.ADMIT)
            return
        self.question, self.correction, self.again, self.throttled = self.question + 1, 0, 0, 0
        self.enter(At.DONE if self.question == len(self.claims) else At.ADMIT)

    def went_wrong(self, error: str, now: datetime) -> bool:
        """Retry or catch an error; False where the branch fails by it."""
        self.token = self.invocation = None
        group = RETRIES.get(error)
        if group is not None and not (self.at is At.ADMIT and error in ("States.Timeout", BUSY)):
            self.retries[group] += 1
            if self.retries[group] <= MOST[group]:
                first, rate = SECONDS[group]
                wait = min(120.0, first * rate ** (self.retries[group] - 1))
                self.not_before = now + timedelta(seconds=wait)
                return True
        if self.at is At.CALL and error == "AdmissionLost":
            self.again += 1
            self.enter(At.ADMIT)
            return True
        if self.at is At.CALL and error == "ModelThrottled":
            self.throttled += 1
            self.enter(At.ADMIT)
            self.not_before = now + timedelta(seconds=min(120, 5 * 2**self.throttled))
            return True
        self.failed = True
        return False

    def redriven(self) -> None:
        """Go on from the state that failed or was ended."""
        if self.at is At.DONE:
            return
        # The state is not entered anew: it goes on, with its retries counted anew.
        self.failed = False
        self.token = self.invocation = self.not_before = None
        self.retries.clear()


def name_of(error: BaseException) -> str:
    """What Lambda reports a raised exception as."""
    return type(error).__name__ if isinstance(error, Exception) else "Runtime.ExitError"
