"""What an operator does to a run: pause, resume, stop, raise its budget, redrive it."""

from dataclasses import dataclass
from typing import NoReturn

from autoops.domain.admissions import AdmissionState, Wait
from autoops.domain.ledger import RunState
from autoops.domain.money import show
from autoops.errors import InvalidInput, RunStopped
from autoops.gate import Gate


@dataclass(frozen=True)
class Operations:
    """Operations on runs, by root.

    Attributes:
        account_ceiling: most nano-dollars that any run may spend.
    """

    gate: Gate
    account_ceiling: int

    def pause(self, root: str) -> None:
        """Let no call in until the run is resumed; calls under way end and are paid.

        Raises:
            InvalidInput: no such run, or it has ended.
        """
        if not self.gate.ledger.pause(root, paused=True):
            self._refuse(root)

    def resume(self, root: str) -> int:
        """Let calls in again; how many that waited are in.

        Raises:
            InvalidInput: no such run, or it has ended.
        """
        if not self.gate.ledger.pause(root, paused=False):
            self._refuse(root)
        return self._let_in(root, Wait.PAUSED)

    def stop(self, root: str) -> None:
        """End the run and let no call in ever again; calls under way end and are paid.

        Raises:
            InvalidInput: no such run.
        """
        state = self._known(root)
        stopped = RunStopped("an operator stopped the run")
        # First the record, so that nothing is let in behind what is released here.
        self.gate.ledger.stop(root)
        for seen in self.gate.admissions.of_run(root):
            if seen.state is AdmissionState.WAITING:
                self.gate.turn_away(seen, stopped)
            elif seen.state is AdmissionState.GRANTED and self.gate.admissions.release(seen):
                self.gate.made_room(seen)
        self.gate.workflows.stop(state.opened.execution, type(stopped).__name__, str(stopped))

    def raise_budget(self, root: str, by: int) -> int:
        """Add to the ceiling; how many calls that waited for money are in.

        Args:
            root: the run's root.
            by: nano-dollars, above 0.

        Raises:
            InvalidInput: no such run, or the ceiling would pass the account's.
        """
        self._known(root)
        if by <= 0:
            raise InvalidInput("budget: has to grow by more than 0")
        if not self.gate.ledger.raise_ceiling(root, by, self.account_ceiling):
            raise InvalidInput(
                f"budget: the ceiling would be above the account's {show(self.account_ceiling)}"
            )
        return self._let_in(root, Wait.MONEY)

    def redrive(self, root: str) -> None:
        """Go on from the state that failed, with the same code and what is left of the budget.

        Raises:
            InvalidInput: no such run, it was stopped, or it cannot be redriven.
        """
        state = self._known(root)
        if state.stopped:
            raise InvalidInput(f"run {root}: was stopped; start a new one")
        self.gate.workflows.redrive(state.opened.execution)
        self.gate.ledger.reopen(root, state.redrive + 1)

    def _let_in(self, root: str, wait: Wait) -> int:
        waiting = [seen for seen in self.gate.admissions.of_run(root) if seen.wait is wait]
        return sum(self.gate.let_in(seen) is None for seen in waiting)

    def _known(self, root: str) -> RunState:
        state = self.gate.ledger.run_state(root)
        if state is None:
            raise InvalidInput(f"run {root}: there is none; see its workflow and name")
        return state

    def _refuse(self, root: str) -> NoReturn:
        """Say why a run could not be changed."""
        raise InvalidInput(f"run {root}: has ended ({self._known(root).status})")
