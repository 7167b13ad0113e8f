"""A paid call: begun once, made once per attempt, settled once, whatever crashes in between.

What this promises: a reply that reached us is never paid for again; an attempt whose outcome is
unknown is charged at its worst case and repeated at most `UNKNOWN_REPEATS` times.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from autoops.domain.admissions import Admission, AdmissionState, CallClaim
from autoops.domain.contracts import Run
from autoops.domain.ledger import CallRecord, OnUnknown
from autoops.domain.model import ModelReply
from autoops.domain.pricing import price_of
from autoops.errors import (
    AdmissionLost,
    CallInProgress,
    GiveUp,
    ModelThrottled,
    ModelUnavailable,
    OutcomeUnknown,
    TryAgain,
)
from autoops.gate import Gate
from autoops.ports import ArtifactStore

UNKNOWN_REPEATS: Final = 1
RENEWALS: Final = 3
"""So often a lease is renewed before it would end."""


@dataclass(frozen=True)
class PaidCalls:
    """Makes paid calls for one run."""

    run: Run
    gate: Gate
    artifacts: ArtifactStore

    def make(
        self, claim: CallClaim, call: Callable[[], ModelReply]
    ) -> tuple[ModelReply, CallRecord]:
        """The reply and what it cost: from the record, an unsettled reply, or the model.

        Raises:
            AdmissionLost: the call has to be admitted again.
            CallInProgress: another worker is making it.
            OutcomeUnknown: every allowed repeat ended without a known outcome.
            TryAgain, GiveUp: what the model said.
        """
        begun = self.gate.admissions.begin(self.run, claim, self.gate.lease_end())
        if begun is None:
            raise AdmissionLost(f"call {claim.call}: not admitted")
        admission = begun.admission
        if admission.state is AdmissionState.SETTLED:
            return self._recorded(claim)
        kept = kept_reply(self.artifacts, admission, self.gate.clock.now(), made=not begun.now)
        if kept is not None:
            return kept[1], self._settled(admission, *kept, made=not begun.now)
        if begun.now:
            return self._attempt(admission, call)
        if admission.alive(self.gate.clock.now()):
            raise CallInProgress(f"call {claim.call}: another worker is making it")
        return self._attempt(self._repeated(admission), call)

    def _attempt(
        self, admission: Admission, call: Callable[[], ModelReply]
    ) -> tuple[ModelReply, CallRecord]:
        try:
            with self._renewed(admission):
                reply = call()
        except ModelUnavailable:
            if not self.gate.admissions.uncharge(admission):
                self._released(admission)
            raise
        except (ModelThrottled, GiveUp):
            self._released(admission)
            raise
        except Exception:
            self._given_up(admission)
            raise
        self.artifacts.keep_reply(reply_key(admission, admission.attempt), reply)
        return reply, self._settled(admission, admission.attempt, reply)

    def _given_up(self, admission: Admission) -> None:
        """Nobody will answer for this attempt any more: whoever comes next need not wait."""
        with suppress(TryAgain):
            self.gate.admissions.renew(admission, self.gate.clock.now())

    def _released(self, admission: Admission) -> None:
        if self.gate.admissions.release(admission):
            self.gate.made_room(admission)

    def _recorded(self, claim: CallClaim) -> tuple[ModelReply, CallRecord]:
        record = self.gate.ledger.call_record(self.run, claim.call)
        reply = None if record is None else self.artifacts.reply(record.reply)
        if record is None or reply is None:
            raise AdmissionLost(f"call {claim.call}: settled, but its reply is gone")
        return reply, record

    def _repeated(self, admission: Admission) -> Admission:
        call = admission.claim.call
        if len(admission.lost) < UNKNOWN_REPEATS and self._may_repeat():
            repeated = self.gate.admissions.repeat(admission, self.gate.lease_end())
            if isinstance(repeated, Admission):
                return repeated
            if repeated == "standing":
                raise CallInProgress(f"call {call}: taken over by another worker")
            self._lost(admission)
            raise AdmissionLost(f"call {call}: not repeated: {repeated}")
        self._lost(admission)
        raise OutcomeUnknown(f"call {call}: {admission.attempt} attempts had no known outcome")

    def _may_repeat(self) -> bool:
        state = self.gate.ledger.run_state(self.run.root)
        return state is None or state.opened.on_unknown is OnUnknown.REPEAT

    def _lost(self, admission: Admission) -> None:
        if not self.gate.admissions.lose(admission):
            raise CallInProgress(f"call {admission.claim.call}: taken over by another worker")
        self.gate.made_room(admission)

    def _settled(
        self, admission: Admission, attempt: int, reply: ModelReply, *, made: bool = True
    ) -> CallRecord:
        record = record_of(admission, attempt, reply)
        if settle_kept(self.gate, admission, record, made=made):
            return record
        standing = self.gate.admissions.standing(self.run.purse, record.call)
        if standing is not None and standing.state is AdmissionState.SETTLED:
            return self._settled_before(standing, admission, record)
        if standing is not None and attempt in standing.lost:
            self.gate.admissions.settle_late(standing, admission, record)
            raise CallInProgress(f"call {record.call}: taken over; its cost is counted")
        raise AdmissionLost(f"call {record.call}: no longer admitted")

    def _settled_before(
        self, standing: Admission, given_up: Admission, record: CallRecord
    ) -> CallRecord:
        if record.attempt in standing.lost:
            self.gate.admissions.settle_late(standing, given_up, record)
        settled = self.gate.ledger.call_record(self.run, record.call)
        if settled is None or settled.attempt != record.attempt:
            raise CallInProgress(f"call {record.call}: settled by another worker")
        return settled

    @contextmanager
    def _renewed(self, admission: Admission) -> Iterator[None]:
        """Renew the lease while the provider works."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self.gate.lease.total_seconds() / RENEWALS):
                try:
                    if not self.gate.admissions.renew(admission, self.gate.lease_end()):
                        return
                except TryAgain:
                    continue

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def reply_key(admission: Admission, attempt: int) -> str:
    """Where the reply of an attempt is kept; another request on the same path has other keys."""
    claim = admission.claim
    return f"answers/{claim.call}/{claim.fingerprint[:16]}/{attempt}"


def kept_reply(
    artifacts: ArtifactStore, calling: Admission, now: datetime, *, made: bool
) -> tuple[int, ModelReply] | None:
    """The attempt whose reply was kept and not settled, and the reply.

    Args:
        artifacts: where replies are kept.
        calling: the admission; earlier attempts are looked at too, unless a worker is calling.
        now: the time.
        made: the present attempt may have been made.
    """
    last = calling.attempt if made else calling.attempt - 1
    earliest = calling.attempt if made and calling.alive(now) else 1
    for attempt in range(last, earliest - 1, -1):
        reply = artifacts.reply(reply_key(calling, attempt))
        if reply is not None:
            return attempt, reply
    return None


def record_of(admission: Admission, attempt: int, reply: ModelReply) -> CallRecord:
    """What is written of an attempt whose reply is kept."""
    claim = admission.claim
    cost = claim.worst if reply.usage is None else price_of(claim.model).actual(reply.usage)
    return CallRecord(
        call=claim.call,
        fingerprint=claim.fingerprint,
        model=claim.model,
        prompt=claim.prompt,
        attempt=attempt,
        reply=reply_key(admission, attempt),
        usage=reply.usage,
        cost=cost,
        estimated=reply.usage is None,
    )


def settle_kept(gate: Gate, calling: Admission, record: CallRecord, *, made: bool) -> bool:
    """Settle by a reply that is kept, of the present attempt or of one given up."""
    if record.attempt == calling.attempt:
        return gate.settle(calling, record)
    if not gate.admissions.recover(calling, record, made=made):
        return False
    gate.made_room(calling)
    return True
