"""States that wait for an answer from outside."""

from local.stepfunctions.errors import StatesError
from local.stepfunctions.jsontext import Json
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.states.base import State


class Answered(State):
    """A state whose work is done outside of the execution: a Task, a Distributed Map."""

    def submitted(self, run: Run, strand: Strand, output: str) -> None:
        """The service took the request; the answer comes later."""

    def started_by(self, run: Run, strand: Strand, worker: str | None) -> None:
        """A worker took the work."""

    def alive(self, run: Run, strand: Strand) -> None:
        """Who does the work is alive."""

    def succeeded(self, run: Run, strand: Strand, result: Json) -> None:
        """The work is done."""
        raise NotImplementedError

    def failed(self, run: Run, strand: Strand, error: StatesError) -> None:
        """The work failed."""
        raise NotImplementedError
