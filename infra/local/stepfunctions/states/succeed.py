"""Succeed: ends its strand well."""

from local.stepfunctions.flow import leave
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.states.base import State


class Succeed(State):
    """Ends the machine, the branch or the iteration with its output."""

    kind = "Succeed"

    def enter(self, run: Run, strand: Strand) -> None:
        """Leave at once; nothing follows."""
        leave(run, strand, run.scope(strand), strand.input)
