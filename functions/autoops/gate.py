"""The gate in front of every model call: lets it in, lets it wait, and lets in who waits.

A call is let in when its run goes on, the run's money covers its worst case and the limits of its
model have room. It waits otherwise, and whoever makes room lets in the next; `sweep` does at the
latest.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from autoops.domain.admissions import (
    Admission,
    AdmissionState,
    Answer,
    Asker,
    CallClaim,
    Refused,
    Settled,
    Wait,
)
from autoops.domain.contracts import Run
from autoops.domain.ledger import CallRecord, OnBudget
from autoops.errors import (
    AutoOpsError,
    BudgetExceeded,
    CallInProgress,
    DependencyUnavailable,
    InvalidInput,
    RunStopped,
    TryAgain,
)
from autoops.ports import Admissions, Clock, Events, Ledger, Workflows

TRIES: Final = 3
"""So often a call is asked for that others move meanwhile, and so many of a queue are tried."""

WAITS: Final = {"full": Wait.FULL, "paused": Wait.PAUSED, "money": Wait.MONEY}


@dataclass(frozen=True)
class Gate:
    """Admission of calls, over the ports that it needs.

    Attributes:
        lease: how long a worker that says nothing is believed to be at work.
    """

    admissions: Admissions
    ledger: Ledger
    workflows: Workflows
    events: Events
    clock: Clock
    lease: timedelta

    def ask(self, run: Run, claim: CallClaim, asker: Asker) -> Admission:
        """Let the call in or let it wait; asked again it keeps its place, money and slot.

        Returns:
            The admission: waiting, when the asker's token is answered later; granted; or calling
            or settled, when the call was let in before.

        Raises:
            BudgetExceeded: the money does not reach, and the run does not ask for more.
            RunStopped: the run was stopped, has ended or never opened.
            InvalidInput: another request is under way on this path.
            CallInProgress: a later try of the same state has asked for it.
            DependencyUnavailable: the ledger did not answer, or others moved again and again.
        """
        wanted = self._wanted(run, claim, asker)
        for _ in range(TRIES):
            answer = self.admissions.grant(wanted, self.clock.now())
            admission = self._standing(answer, claim, asker) or self._waiting(wanted, answer)
            if admission is not None:
                return admission
        raise DependencyUnavailable(f"call {claim.call}: moved while it was asked for")

    def try_ask(self, run: Run, claim: CallClaim, asker: Asker) -> Admission | Refused:
        """Let the call in, or say why not; it never waits."""
        answer = self.admissions.grant(self._wanted(run, claim, asker), self.clock.now())
        return self._standing(answer, claim, asker) or answer.refused or "standing"

    def lease_end(self) -> datetime:
        """The end of a lease that begins now."""
        return self.clock.now() + self.lease

    def serve(self, model: str, freed: int | None = None) -> bool:
        """Let in the next that waits for a slot of the model, if there is one and room for it.

        Args:
            model: priced model id.
            freed: shard that has a slot, None for no idea.

        Returns:
            Whether one was let in.
        """
        for _ in range(TRIES):
            waiting = self.admissions.next_in_line(model)
            if waiting is None:
                return False
            refused = self.let_in(waiting, freed)
            if refused in (None, "full"):
                return refused is None
        return False

    def let_in(self, waiting: Admission, freed: int | None = None) -> Refused | None:
        """Try once more to let in a call that waits, and tell its asker; None when it is in."""
        answer = self.admissions.grant(waiting, self.clock.now(), freed)
        if answer.refused is None and answer.admission is not None:
            return None if self._told(answer.admission) else "standing"
        if answer.refused in ("stopped", "closed"):
            self.turn_away(waiting, RunStopped("the run was stopped or has ended"))
        elif answer.refused == "money" and not self._asks(waiting.run):
            self.turn_away(waiting, _too_dear(waiting.claim))
        elif answer.refused in WAITS and WAITS[answer.refused] is not waiting.wait:
            self._park(waiting, WAITS[answer.refused])
        return answer.refused

    def turn_away(self, waiting: Admission, error: AutoOpsError) -> None:
        """Tell who waits that the call will not be made, then end its waiting."""
        # In this order: ended first, a crash in between would leave the state waiting for days.
        if waiting.asker.token:
            self.workflows.fail(waiting.asker.token, type(error).__name__, str(error))
        self.admissions.unpark(waiting)

    def settle(self, calling: Admission, record: CallRecord) -> bool:
        """Settle, announce a run that comes near its ceiling, and let in the next.

        Returns:
            False when the attempt was taken over or settled meanwhile.
        """
        settled = self.admissions.settle(calling, record)
        if settled is Settled.TAKEN_OVER:
            return False
        if settled is Settled.WARNED:
            self._announce("run.near_ceiling", calling.run)
        self.made_room(calling)
        return True

    def made_room(self, held: Admission) -> None:
        """Let in the next: a call has ended. What goes wrong here is left to `sweep`."""
        try:
            self.serve(held.claim.model, held.slot)
        except TryAgain:
            return

    def tell(self, granted: Admission) -> bool:
        """Answer the token of a call that was let in; False when nobody waits for it any more."""
        told = {"call": granted.claim.call, "worst": granted.claim.worst}
        token = granted.asker.token
        return token is None or self.workflows.succeed(token, told)

    def _told(self, granted: Admission) -> bool:
        if self.tell(granted):
            return True
        self.admissions.release(granted)
        return False

    def _wanted(self, run: Run, claim: CallClaim, asker: Asker) -> Admission:
        return Admission(
            run=run,
            claim=claim,
            asker=asker,
            state=AdmissionState.WAITING,
            asked_at=self.clock.now(),
        )

    def _standing(self, answer: Answer, claim: CallClaim, asker: Asker) -> Admission | None:
        """The admission that was granted or stands; None where there is none, or it moved."""
        standing = answer.admission
        if answer.refused is None:
            return standing
        if answer.refused != "standing" or standing is None:
            return None
        if standing.ended and standing.state is not AdmissionState.SETTLED:
            return None
        if standing.claim.fingerprint != claim.fingerprint:
            raise InvalidInput(f"call {claim.call}: another request is under way on this path")
        if standing.asker.since > asker.since:
            raise CallInProgress(f"call {claim.call}: a later try of the state has asked for it")
        again = standing.model_copy(update={"asker": asker})
        if standing.ended or self.admissions.ask_again(standing, asker):
            return again
        return None

    def _waiting(self, wanted: Admission, answer: Answer) -> Admission | None:
        """The admission that waits now; None where the reason is gone, or the run goes on again."""
        if answer.refused == "stopped":
            raise RunStopped("the run was stopped; start a new one")
        if answer.refused == "closed":
            self._reopen(wanted.run)
        if answer.refused == "money" and not self._asks(wanted.run):
            raise _too_dear(wanted.claim)
        wait = WAITS.get(answer.refused or "")
        if wait is None or not self._park(wanted, wait):
            return None
        if wait is Wait.FULL:
            # A slot that was freed just before this call stood in the queue woke nobody.
            self.made_room(wanted)
        return wanted.model_copy(update={"wait": wait})

    def _park(self, wanted: Admission, wait: Wait) -> bool:
        parked = self.admissions.park(wanted, wait)
        if parked and wait is Wait.MONEY:
            self._announce("run.out_of_money", wanted.run)
        return parked

    def _asks(self, run: Run) -> bool:
        # More money for the run is not more for a slice of it.
        state = None if run.slice else self.ledger.run_state(run.root)
        return state is not None and state.opened.on_budget is OnBudget.ASK

    def _reopen(self, run: Run) -> None:
        """The run has ended in the ledger: it goes on if its execution was redriven since."""
        state = self.ledger.run_state(run.root)
        redrive = None if state is None else self.workflows.redrive_running(state.opened.execution)
        if state is None or redrive is None or redrive <= state.redrive:
            raise RunStopped("the run has ended or never opened; start a new one")
        self.ledger.reopen(run.root, redrive)

    def _announce(self, kind: str, run: Run) -> None:
        """An event about the run's money; that it cannot be sent stops no call."""
        try:
            self.events.publish(kind, {"run": run.root, "tenant": run.tenant})
        except AutoOpsError:
            return


def _too_dear(claim: CallClaim) -> BudgetExceeded:
    return BudgetExceeded(
        f"call {claim.call}: its worst case is over what is left of the budget; raise the budget"
    )
