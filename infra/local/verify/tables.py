"""What verification found, as tables for people."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from local.verify.findings import Finding
from local.verify.retries import HANDLER_ATTEMPTS, Call

TITLE: Final = (
    f"Requests to a model at most: the handler makes {HANDLER_ATTEMPTS} a try,"
    " and a run is redriven {redrives} times"
)


def print_calls(console: Console, calls: Sequence[Call]) -> None:
    """How often a model is asked at most, a line for each call."""
    title = TITLE.format(redrives=max((call.redrives for call in calls), default=0))
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("call", overflow="fold", min_width=24)
    for name in ("tries", "counted", "requests", "seconds"):
        table.add_column(name, justify="right")
    for call in calls:
        counted = "\n".join(f"{name} {figure(most)}" for name, most in call.counters.items())
        table.add_row(
            escape(f"{call.machine}: {' → '.join(call.path)}"),
            str(call.tries),
            escape(counted),
            figure(call.requests),
            figure(call.seconds),
        )
    console.print(table)


def print_findings(console: Console, findings: Iterable[Finding]) -> None:
    """One refusal a line, with the way that leads to it."""
    for finding in findings:
        color = "yellow" if finding.note else "red"
        console.print(f"[{color}]{escape(str(finding))}[/{color}]", soft_wrap=True)


def figure(value: float) -> str:
    """A number as people read it."""
    return "no bound" if math.isinf(value) else f"{math.ceil(value):,}"
