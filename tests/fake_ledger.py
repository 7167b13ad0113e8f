"""The ledger in memory: `autoops.ports.Ledger`, and what must always be true of its money."""

from dataclasses import dataclass, field
from datetime import datetime

from autoops.domain.admissions import Admission, AdmissionState, Begun, CallClaim
from autoops.domain.contracts import Run
from autoops.domain.ledger import Budget, CallRecord, OpenedRun, RunView, StepRecord
from autoops.domain.references import Reference
from autoops.errors import (
    AdmissionLost,
    BudgetExceeded,
    CallInProgress,
    InvalidInput,
    RunStopped,
)
from watching import Watched, watched


@dataclass
class Book:
    """One run in the fake ledger."""

    opened: OpenedRun
    budget: Budget
    status: str = "RUNNING"
    error: str | None = None
    outcome: str | None = None
    result: Reference | None = None
    closed_at: datetime | None = None
    stopped: bool = False
    admissions: dict[str, Admission] = field(default_factory=dict)
    calls: dict[str, CallRecord] = field(default_factory=dict)
    steps: list[StepRecord] = field(default_factory=list)

    def move(self, *, available: int = 0, reserved: int = 0, spent: int = 0) -> None:
        """Change the money, all of it at once, and hold it against what must always be true."""
        now = self.budget
        moved = Budget(
            ceiling=now.ceiling,
            available=now.available + available,
            reserved=now.reserved + reserved,
            spent=now.spent + spent,
        )
        assert moved.available + moved.reserved + moved.spent == moved.ceiling, moved
        assert moved.reserved >= 0, moved
        assert moved.spent >= 0, moved
        # Only a call that cost more than its worst case may overdraw, and that stops the run.
        assert moved.available >= 0 or self.stopped, moved
        self.budget = moved


@dataclass
class FakeLedger(Watched):
    """`autoops.ports.Ledger` in memory; each operation is one atomic step.

    Attributes:
        books: the runs by root.
    """

    books: dict[str, Book] = field(default_factory=dict)

    @watched
    def open_run(self, opened: OpenedRun) -> OpenedRun:
        book = self.books.get(opened.run.root)
        if book is not None:
            if book.opened.execution != opened.execution:
                raise InvalidInput(f"run {opened.run.root}: opened by another execution")
            return book.opened
        budget = Budget(ceiling=opened.ceiling, available=opened.ceiling, reserved=0, spent=0)
        self.books[opened.run.root] = Book(opened, budget)
        return opened

    @watched
    def admit(self, run: Run, claim: CallClaim) -> Admission:
        book = self.books.get(run.root)
        before = None if book is None else book.admissions.get(claim.call)
        if before is not None and _stands(before, claim):
            if before.claim.fingerprint == claim.fingerprint:
                return before
            raise InvalidInput(f"call {claim.call}: another request is under way on this path")
        if book is None or book.stopped:
            raise RunStopped("the run was stopped or never opened")
        if book.budget.available < claim.worst:
            raise BudgetExceeded(f"call {claim.call}: over what is left; raise the budget")
        book.move(available=-claim.worst, reserved=claim.worst)
        fresh = Admission(claim=claim, state=AdmissionState.GRANTED, attempt=0, lost=())
        kept = {"attempt": before.attempt, "lost": before.lost} if before else {}
        book.admissions[claim.call] = fresh.model_copy(update=kept)
        return fresh

    @watched
    def begin(self, run: Run, claim: CallClaim) -> Begun:
        standing = self._admission(run, claim.call)
        if standing is None or standing.claim.fingerprint != claim.fingerprint:
            raise AdmissionLost(f"call {claim.call}: not admitted")
        if standing.state is AdmissionState.GRANTED:
            return Begun(
                admission=self._put(
                    run, standing, state=AdmissionState.CALLING, attempt=standing.attempt + 1
                ),
                now=True,
            )
        if standing.state in (AdmissionState.CALLING, AdmissionState.SETTLED):
            return Begun(admission=standing, now=False)
        raise AdmissionLost(f"call {claim.call}: not admitted")

    @watched
    def repeat(self, run: Run, admission: Admission) -> Admission:
        standing = self._calling(run, admission)
        book, worst = self.books[run.root], admission.claim.worst
        if book.budget.available < worst:
            self._lose(run, standing)
            raise BudgetExceeded(f"call {admission.claim.call}: no money left to repeat it")
        book.move(available=-worst, spent=worst)
        lost = (*standing.lost, standing.attempt)
        return self._put(run, standing, attempt=standing.attempt + 1, lost=lost)

    @watched
    def lose(self, run: Run, admission: Admission) -> None:
        self._lose(run, self._calling(run, admission))

    @watched
    def settle(self, run: Run, admission: Admission, record: CallRecord) -> None:
        book, worst = self.books[run.root], admission.claim.worst
        standing = book.admissions.get(record.call)
        if standing is None:
            raise AdmissionLost(f"call {record.call}: no longer admitted")
        dearer = record.cost > worst
        if standing.state is AdmissionState.CALLING and standing.attempt == record.attempt:
            book.stopped |= dearer
            book.move(available=worst - record.cost, reserved=-worst, spent=record.cost)
            self._put(run, standing, state=AdmissionState.SETTLED)
            book.calls[record.call] = record
        elif record.attempt in standing.lost:
            book.stopped |= dearer
            book.move(available=worst - record.cost, spent=record.cost - worst)
            lost = tuple(attempt for attempt in standing.lost if attempt != record.attempt)
            self._put(run, standing, lost=lost)
            raise CallInProgress(f"call {record.call}: taken over; its cost is counted")
        elif standing.state is not AdmissionState.SETTLED:
            raise AdmissionLost(f"call {record.call}: no longer admitted")

    @watched
    def uncharge(self, run: Run, admission: Admission) -> None:
        self._put(run, self._calling(run, admission), state=AdmissionState.GRANTED)

    @watched
    def release(self, run: Run, admission: Admission) -> None:
        standing = self._calling(run, admission)
        worst = admission.claim.worst
        self.books[run.root].move(available=worst, reserved=-worst)
        self._put(run, standing, state=AdmissionState.RELEASED)

    @watched
    def call_record(self, run: Run, call: str) -> CallRecord | None:
        return self.books[run.root].calls.get(call) if run.root in self.books else None

    @watched
    def record_step(self, run: Run, step: StepRecord) -> None:
        # A step's record does not need an opened run: OpenRun itself may fail.
        if run.root in self.books:
            self.books[run.root].steps.append(step)

    @watched
    def note_error(self, run: Run, error: str) -> None:
        if run.root in self.books:
            self.books[run.root].error = error

    @watched
    def keep_result(self, run: Run, outcome: str, result: Reference) -> None:
        if run.root in self.books:
            book = self.books[run.root]
            book.outcome, book.result = outcome, result

    @watched
    def close_run(self, root: str, status: str, error: str | None, at: datetime) -> bool:
        book = self.books.get(root)
        if book is None or book.status != "RUNNING":
            return False
        book.status, book.closed_at = status, at
        book.error = None if status == "SUCCEEDED" else book.error or error
        return True

    def view(self, root: str) -> RunView | None:
        book = self.books.get(root)
        if book is None:
            return None
        return RunView(
            opened=book.opened,
            status=book.status,
            error=book.error,
            outcome=book.outcome,
            result=book.result,
            budget=book.budget,
            calls=tuple(record for _, record in sorted(book.calls.items())),
            admissions=tuple(admission for _, admission in sorted(book.admissions.items())),
            steps=tuple(sorted(book.steps, key=lambda step: (step.started_at, step.request))),
        )

    def _admission(self, run: Run, call: str) -> Admission | None:
        return self.books[run.root].admissions.get(call) if run.root in self.books else None

    def _calling(self, run: Run, admission: Admission) -> Admission:
        standing = self._admission(run, admission.claim.call)
        same = standing is not None and standing.attempt == admission.attempt
        if standing is None or not same or standing.state is not AdmissionState.CALLING:
            raise CallInProgress(f"call {admission.claim.call}: taken over")
        return standing

    def _lose(self, run: Run, standing: Admission) -> None:
        worst = standing.claim.worst
        self.books[run.root].move(reserved=-worst, spent=worst)
        lost = (*standing.lost, standing.attempt)
        self._put(run, standing, state=AdmissionState.LOST, lost=lost)

    def _put(self, run: Run, standing: Admission, **changes: object) -> Admission:
        changed = standing.model_copy(update=changes)
        self.books[run.root].admissions[standing.claim.call] = changed
        return changed


def _stands(before: Admission, claim: CallClaim) -> bool:
    if before.state is AdmissionState.SETTLED:
        return before.claim.fingerprint == claim.fingerprint
    return before.state in (AdmissionState.GRANTED, AdmissionState.CALLING)
