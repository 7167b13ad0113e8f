"""Ending what nobody works on or waits for any more.

Only Step Functions knows whether somebody still waits: nothing is released but after it said that
the asking execution does not run, or runs on after a redrive that asked anew.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from autoops.calls import kept_reply, record_of, settle_kept
from autoops.domain.admissions import Admission, AdmissionState, Wait
from autoops.gate import Gate
from autoops.ports import ArtifactStore

PATIENCE: Final = timedelta(minutes=1)
"""Younger admissions are left alone: whoever asked or let in is still at it."""

SWEEP: Final = timedelta(seconds=40)
"""How long one sweep goes on; the next one goes on from there."""


@dataclass(frozen=True)
class Closing:
    """Ends admissions that were left behind."""

    gate: Gate
    artifacts: ArtifactStore

    def close(self, root: str) -> int:
        """End what a run that has ended left behind; how many admissions that were."""
        seen = [one for one in self.gate.admissions.of_run(root) if not one.ended]
        return sum(self.tidy(one) for one in seen) + self._joined(root)

    def sweep(self) -> int:
        """End what was left behind in any run, and let in who was forgotten; how many moved."""
        moved, models = 0, set[str]()
        began = self.gate.clock.now()
        for listed in self.gate.admissions.open():
            if self.gate.clock.now() - began > SWEEP:
                break
            seen = self.gate.admissions.standing(listed.run.purse, listed.claim.call)
            if seen is None or seen.ended or began - seen.asked_at < PATIENCE:
                continue
            if seen.wait is Wait.FULL:
                models.add(seen.claim.model)
            tidied = self.tidy(seen)
            moved += tidied or self._woken(seen)
            if tidied and seen.run.slice:
                self._joined(seen.run.root)
        return moved + sum(self._served(model) for model in sorted(models))

    def tidy(self, seen: Admission) -> bool:
        """End an admission if nobody is there for it."""
        if seen.state is AdmissionState.CALLING:
            return not seen.alive(self.gate.clock.now()) and self._gone(seen) and self._end(seen)
        if not self._gone(seen):
            return False
        if seen.state is AdmissionState.WAITING:
            return self.gate.admissions.unpark(seen)
        return self._room(seen, self.gate.admissions.release(seen))

    def _joined(self, root: str) -> int:
        """Give the rest of a run's slices back once it has ended; how many those were."""
        state = self.gate.ledger.run_state(root)
        if state is None or state.status == "RUNNING":
            return 0
        run = state.opened.run
        parts = (run.model_copy(update={"slice": name}) for name in self.gate.ledger.slices(root))
        return sum(self.gate.ledger.close_slice(part) for part in parts)

    def _end(self, calling: Admission) -> bool:
        kept = kept_reply(self.artifacts, calling, self.gate.clock.now(), made=True)
        if kept is not None:
            return settle_kept(self.gate, calling, record_of(calling, *kept), made=True)
        return self._room(calling, self.gate.admissions.lose(calling))

    def _room(self, held: Admission, moved: bool) -> bool:  # what the move said
        if moved:
            self.gate.made_room(held)
        return moved

    def _gone(self, seen: Admission) -> bool:
        # Asked after the admission was read, and each time: a redrive in between asked anew.
        return self.gate.workflows.redrive_running(seen.asker.execution) != seen.asker.redrive

    def _woken(self, seen: Admission) -> bool:
        """Answer what was let in and not told, and let in what waits for no reason any more."""
        if seen.state is AdmissionState.GRANTED:
            return self.gate.tell(seen)
        waits = seen.wait in (Wait.PAUSED, Wait.MONEY)
        return waits and self.gate.let_in(seen) is None

    def _served(self, model: str) -> int:
        served = 0
        while self.gate.serve(model):
            served += 1
        return served
