"""What verification found, as tables for people."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from local.verify.cost import Cost
from local.verify.findings import Finding
from local.verify.retries import HANDLER_ATTEMPTS, Call

NO_BOUND: Final = "no bound"
NANO: Final = 1_000_000_000
UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
TITLE: Final = (
    f"How often a model gets the same request at most: {HANDLER_ATTEMPTS} a try of the handler,"
    " redrives {redrives}"
)


def print_calls(console: Console, calls: Sequence[Call]) -> None:
    """How often a model is asked at most, a line for each call."""
    title = TITLE.format(redrives=max((call.redrives for call in calls), default=0))
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("call", overflow="fold", min_width=24)
    for name in ("different", "tries", "counted", "sent", "time"):
        table.add_column(name, justify="right")
    for call in calls:
        counted = "\n".join(f"{name} {figure(most)}" for name, most in call.counters.items())
        table.add_row(
            escape(f"{call.machine}: {' → '.join(call.path)}"),
            figure(call.different),
            str(call.tries),
            escape(counted),
            figure(call.requests),
            time(call.seconds),
        )
    console.print(table)


def print_costs(console: Console, costs: Mapping[str, Cost]) -> None:
    """The worst case of each machine."""
    table = Table(box=box.SIMPLE_HEAD, title="One execution at most", title_justify="left")
    table.add_column("machine", overflow="fold")
    for name in ("dollars", "tokens", "time", "transitions", "events", "children"):
        table.add_column(name, justify="right")
    for name, cost in sorted(costs.items()):
        table.add_row(escape(name), *row_of(cost))
    console.print(table)


def row_of(cost: Cost) -> list[str]:
    """The figures of a worst case as people read them."""
    return [
        money(cost.dollars),
        figure(cost.tokens),
        time(cost.seconds),
        figure(cost.transitions),
        figure(cost.events),
        figure(cost.children),
    ]


def print_findings(console: Console, findings: Iterable[Finding]) -> None:
    """One refusal a line, with the way that leads to it."""
    for finding in findings:
        color = "yellow" if finding.note else "red"
        console.print(f"[{color}]{escape(str(finding))}[/{color}]", soft_wrap=True)


def money(nano: float) -> str:
    """Nano-dollars as dollars, rounded up to the cent."""
    return NO_BOUND if math.isinf(nano) else f"${math.ceil(nano / NANO * 100) / 100:,.2f}"


def time(seconds: float) -> str:
    """Seconds in the largest unit that leaves a number above one."""
    if math.isinf(seconds):
        return NO_BOUND
    unit, size = next((u, s) for u, s in UNITS if seconds >= s or s == 1)
    return f"{math.ceil(seconds / size * 10) / 10:,g} {unit}"


def figure(value: float) -> str:
    """A number as people read it."""
    return NO_BOUND if math.isinf(value) else f"{math.ceil(value):,}"
