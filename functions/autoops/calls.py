"""A paid call: begun once, made once per attempt, settled once, whatever crashes in between.

What this promises: a reply that reached us is never paid for again; an attempt whose outcome is
unknown is charged at its worst case and repeated at most `UNKNOWN_REPEATS` times.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from autoops.domain.contracts import Run
from autoops.domain.ledger import Admission, AdmissionState, CallClaim, CallRecord
from autoops.domain.model import ModelReply
from autoops.domain.pricing import price_of
from autoops.errors import (
    AdmissionLost,
    GiveUp,
    ModelThrottled,
    ModelUnavailable,
    OutcomeUnknown,
)
from autoops.ports import ArtifactStore, Ledger

UNKNOWN_REPEATS: Final = 1


@dataclass(frozen=True)
class PaidCalls:
    """Makes paid calls for one run.

    Attributes:
        prompt: `<name>@<version>` for the call record, or the name of what is not a prompt.
    """

    run: Run
    ledger: Ledger
    artifacts: ArtifactStore
    prompt: str

    def make(
        self, claim: CallClaim, call: Callable[[], ModelReply]
    ) -> tuple[ModelReply, CallRecord]:
        """The reply and what it cost: from the record, an unsettled reply, or the model.

        Raises:
            AdmissionLost: the call has to be admitted again.
            OutcomeUnknown: every allowed repeat ended without a known outcome.
            BudgetExceeded: no money for a repeat.
            TryAgain, GiveUp: what the model said.
        """
        begun = self.ledger.begin(self.run, claim)
        admission = begun.admission
        if admission.state is AdmissionState.SETTLED:
            return self._recorded(claim)
        if begun.now:
            return self._attempt(admission, call)
        kept = self.artifacts.reply(_reply_key(admission))
        if kept is not None:
            return kept, self._settled(admission, kept)
        return self._attempt(self._repeated(admission), call)

    def _attempt(
        self, admission: Admission, call: Callable[[], ModelReply]
    ) -> tuple[ModelReply, CallRecord]:
        try:
            reply = call()
        except (ModelThrottled, ModelUnavailable):
            self.ledger.uncharge(self.run, admission)
            raise
        except GiveUp:
            self.ledger.release(self.run, admission)
            raise
        self.artifacts.keep_reply(_reply_key(admission), reply)
        return reply, self._settled(admission, reply)

    def _recorded(self, claim: CallClaim) -> tuple[ModelReply, CallRecord]:
        record = self.ledger.call_record(self.run, claim.call)
        reply = None if record is None else self.artifacts.reply(record.reply)
        if record is None or reply is None:
            raise AdmissionLost(f"call {claim.call}: settled, but its reply is gone")
        return reply, record

    def _repeated(self, admission: Admission) -> Admission:
        if len(admission.lost) < UNKNOWN_REPEATS:
            return self.ledger.repeat(self.run, admission)
        self.ledger.lose(self.run, admission)
        raise OutcomeUnknown(
            f"call {admission.claim.call}: {admission.attempt} attempts had no known outcome"
        )

    def _settled(self, admission: Admission, reply: ModelReply) -> CallRecord:
        claim = admission.claim
        cost = claim.worst if reply.usage is None else price_of(claim.model).actual(reply.usage)
        record = CallRecord(
            call=claim.call,
            fingerprint=claim.fingerprint,
            model=claim.model,
            prompt=self.prompt,
            attempt=admission.attempt,
            reply=_reply_key(admission),
            usage=reply.usage,
            cost=cost,
            estimated=reply.usage is None,
        )
        self.ledger.settle(self.run, admission, record)
        return record


def _reply_key(admission: Admission) -> str:
    return f"answers/{admission.claim.call}/{admission.attempt}"
