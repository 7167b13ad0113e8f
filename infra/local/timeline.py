"""Shows in the terminal each state of a run as it is entered and left."""

from dataclasses import dataclass, field
from typing import Final

from rich.console import Console
from rich.text import Text

from local.stepfunctions.events import Event

SCHEDULED: Final = frozenset({"TaskScheduled", "LambdaFunctionScheduled"})
FAILED: Final = frozenset(
    {
        "TaskFailed",
        "TaskTimedOut",
        "TaskSubmitFailed",
        "TaskStartFailed",
        "LambdaFunctionFailed",
        "LambdaFunctionTimedOut",
    }
)
ENDED: Final = frozenset(
    {"ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted", "ExecutionTimedOut"}
)
NAME_WIDTH: Final = 24


@dataclass
class _Open:
    """A state that was entered and not yet left."""

    since: int
    attempts: int = 0


@dataclass
class Timeline:
    """Prints the states of one execution and its children, in the order in which they happen.

    Attributes:
        console: where to.
        root: ARN of the first execution seen; its children's states are set in.
    """

    console: Console
    root: str = ""
    _started: int | None = None
    _open: dict[tuple[str, str], _Open] = field(default_factory=dict)

    def see(self, execution: str, event: Event) -> None:
        """Print what an event of an execution means to someone who watches."""
        if self._started is None:
            self._started, self.root = event.timestamp, execution
        if event.type.endswith("StateEntered"):
            self._entered(execution, event)
        elif event.type.endswith("StateExited"):
            self._left(execution, event)
        elif event.type in SCHEDULED:
            self._count(execution)
        elif event.type in FAILED:
            self._failed(execution, event)

    def _entered(self, execution: str, event: Event) -> None:
        name = event.state or ""
        self._open[execution, name] = _Open(since=event.timestamp)
        self._line(execution, event, "→", "cyan", name, "entered")

    def _left(self, execution: str, event: Event) -> None:
        name = event.state or ""
        was = self._open.pop((execution, name), _Open(since=event.timestamp))
        said = f"left after {_milliseconds(event.timestamp - was.since)}"
        if was.attempts:
            said += f", attempt {was.attempts}"
        self._line(execution, event, "✓", "green", name, said)

    def _count(self, execution: str) -> None:
        for (of, _), state in self._open.items():
            if of == execution:
                state.attempts += 1

    def _failed(self, execution: str, event: Event) -> None:
        error = event.details.get("error") or event.type
        name = next((name for of, name in reversed(self._open) if of == execution), "")
        attempt = self._open[execution, name].attempts if name else 1
        self._line(execution, event, "✗", "red", name, f"attempt {attempt} failed: {error}")

    def _line(
        self, execution: str, event: Event, mark: str, style: str, name: str, said: str
    ) -> None:
        after = (event.timestamp - (self._started or event.timestamp)) / 1000
        indent = "" if execution == self.root else "  "
        line = Text(f"{after:8.3f} s  {indent}")
        line.append(f"{mark} ", style)
        line.append(name.ljust(NAME_WIDTH - len(indent)), "bold" if mark != "→" else "")
        line.append(said, "dim")
        self.console.print(line)


def _milliseconds(count: int) -> str:
    return f"{count} ms" if count < 10_000 else f"{count / 1000:.1f} s"
