"""Parallel: several strands side by side, one output each."""

from collections.abc import Mapping
from typing import Any

from local.stepfunctions.flow import leave
from local.stepfunctions.jsontext import Json
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.states.base import Compile, State
from local.stepfunctions.states.fan_out import FanOut


class Parallel(State):
    """Runs branches side by side; the first that fails stops the others."""

    kind = "Parallel"
    fails_with_event = True

    def read(self, fields: Mapping[str, Any], compile_program: Compile) -> None:
        """Compile the branches."""
        self._branches = tuple(compile_program(branch) for branch in fields["Branches"])
        self._arguments = self.optional(fields, "Arguments")

    def enter(self, run: Run, strand: Strand) -> None:
        """Start every branch with the state's input or its Arguments."""
        arguments = self._arguments
        given = strand.input if arguments is None else Json(arguments(run.scope(strand)))
        run.record(strand, "ParallelStateStarted", {})

        def child(_: Run, fan: FanOut, index: int, came_from: int) -> Strand:
            branch = Strand(self._branches[index], fan, index)
            branch.variables = strand.variables
            branch.item = strand.item
            branch.last = came_from
            run.ready.append((branch, branch.program.start_at, given))
            return branch

        total = len(self._branches)
        strand.fan = FanOut(strand, total, total, child, self._finished, iterations=False)
        strand.fan.start(run)

    def _finished(self, run: Run, strand: Strand, outputs: list[Json]) -> None:
        result = joined(outputs)
        leave(run, strand, run.scope(strand, result=result.data), result)


def joined(outputs: list[Json]) -> Json:
    """The outputs as one array; its text is put together from theirs."""
    text = ",".join([output.text for output in outputs])
    return Json([output.data for output in outputs], f"[{text}]")
