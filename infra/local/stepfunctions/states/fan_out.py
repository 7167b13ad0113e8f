"""Strands beside each other: what Parallel and inline Map have in common."""

from collections.abc import Callable

from local.stepfunctions.errors import StatesError
from local.stepfunctions.flow import abort, fail
from local.stepfunctions.jsontext import Json
from local.stepfunctions.run import Run, Strand


class FanOut:
    """The running children of one strand.

    Args:
        strand: whose state fans out.
        total: how many children there will be.
        concurrency: how many run at once.
        child: makes the child of an index and starts it; `came_from` is the event before it.
        finished: called with all outputs in order when the last child is done.
        iterations: whether children are recorded as iterations, as those of a Map are.
    """

    __slots__ = ("_child", "_concurrency", "_finished", "_iterations", "_next", "_outputs",
                 "_pending", "_total", "children", "strand", "unfinished")  # fmt: skip

    def __init__(
        self,
        strand: Strand,
        total: int,
        concurrency: int,
        child: Callable[[Run, "FanOut", int, int], Strand],
        finished: Callable[[Run, Strand, list[Json]], None],
        *,
        iterations: bool,
    ) -> None:
        self.strand = strand
        self.children: dict[int, Strand] = {}
        self.unfinished: dict[int, Strand] = {}
        self._total = total
        self._concurrency = concurrency
        self._child = child
        self._finished = finished
        self._iterations = iterations
        self._next = 0
        self._pending = total
        self._outputs: list[Json] = [Json(None)] * total

    def start(self, run: Run) -> None:
        """Start as many children as may run at once.

        Raises:
            StatesError: a child's input could not be made, or there were no children and
                the state could not be left.
        """
        came_from = self.strand.last
        if not self._total:
            self._end(run, came_from)
        while self._next < min(self._total, self._concurrency):
            self._start_next(run, came_from)

    def _start_next(self, run: Run, came_from: int) -> None:
        index = self._next
        self._next += 1
        self.children[index] = self._child(run, self, index, came_from)

    def child_finished(self, run: Run, child: Strand, output: Json) -> None:
        """Keep a child's output and start the next child.

        Raises:
            StatesError: as `start`.
        """
        del self.children[child.index]
        self._outputs[child.index] = output
        self._pending -= 1
        came_from = child.last
        if self._iterations:
            details = {"name": self._name, "index": child.index}
            came_from = run.note("MapIterationSucceeded", details, child.last)
        if not self._pending:
            self._end(run, came_from)
        elif self._next < self._total:
            self._start_next(run, child.last)

    def child_failed(self, run: Run, child: Strand, error: StatesError) -> None:
        """Stop the other children and fail the state."""
        self.unfinished = {child.index: self.children.pop(child.index)}
        if self._iterations:
            details = {"name": self._name, "index": child.index}
            run.note("MapIterationFailed", details, child.last)
        elif child.state is not None and child.state.kind == "Task":
            run.note("TaskStateAborted", {}, child.last)
        self.abort(run)
        self.strand.spent, self.strand.fan = self, None
        self.strand.last = child.last
        fail(run, self.strand, error)

    def abort(self, run: Run) -> None:
        """Stop all children."""
        for entry in list(run.ready):
            child, name, given = entry
            if self.children.get(child.index) is child:
                child.queued = (name, given)
                run.ready.remove(entry)
        for child in self.children.values():
            abort(run, child)
            if self._iterations:
                details = {"name": self._name, "index": child.index}
                run.note("MapIterationAborted", details, child.last)
        self.unfinished |= self.children
        self.children.clear()

    def revive(self) -> list[Strand]:
        """Take up the children that did not end, for a redrive; returns them in order."""
        self.children |= self.unfinished
        self.unfinished = {}
        return [self.children[index] for index in sorted(self.children)]

    def _end(self, run: Run, came_from: int) -> None:
        kind = "Map" if self._iterations else "Parallel"
        run.note(f"{kind}StateSucceeded", {}, came_from)
        self.strand.fan = None
        self.strand.last = came_from
        self._finished(run, self.strand, self._outputs)

    @property
    def _name(self) -> str:
        return self.strand.state.name if self.strand.state else ""
