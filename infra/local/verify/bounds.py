"""Everything ends: cycles, waits, Maps and machines have bounds, and the history has room."""

import math
from collections.abc import Iterator
from typing import Final

from local.verify.cost import FIGURES, Cost
from local.verify.counting import Counting, TooManyWaysError
from local.verify.expressions import at_most
from local.verify.findings import Finding
from local.verify.machine import Edge, Machine, State
from local.verify.settings import Settings
from local.verify.ways import shortest, way_to
from local.verify.worst import Worst

MOST_EVENTS: Final = 25_000
"""AWS ends an execution whose history is longer."""


def bounds(machine: Machine, worst: Worst) -> Iterator[Finding]:
    """What has no bound, and histories that may be too long."""
    start = (machine.program.start,)
    if machine.timeout is None:
        sentence = "the machine has no TimeoutSeconds that is a number"
        yield Finding(machine.name, "bounds", start, sentence)
    for state in machine.states():
        for sentence in _unbounded(machine, state, worst):
            yield Finding(machine.name, "bounds", way_to(machine, state), sentence)
    yield from _cycles(machine, worst)
    if not machine.express:
        yield from _histories(machine, worst)


def limits(machine: Machine, cost: Cost, settings: Settings) -> Iterator[Finding]:
    """Figures above what is declared for the machine."""
    start = (machine.program.start,)
    allowed = settings.limits.get(machine.name, {})
    for name in FIGURES:
        most = getattr(cost, name)
        if name in allowed and allowed[name] < most < math.inf:
            sentence = f"up to {most:,.0f} {name}, over the limit of {allowed[name]:,}"
            yield Finding(machine.name, "limits", start, sentence)


def endless(machine: Machine, cost: Cost) -> Iterator[Finding]:
    """Figures without bound, and why."""
    for name in FIGURES:
        if math.isinf(getattr(cost, name)):
            reasons = "; ".join(cost.reasons(name)) or "nothing bounds it"
            sentence = f"no bound on {name}: {reasons}"
            yield Finding(machine.name, "bounds", (machine.program.start,), sentence)


def _unbounded(machine: Machine, state: State, worst: Worst) -> Iterator[str]:
    if state.type == "Task" and at_most(state.body.get("TimeoutSeconds")) is None:
        what = "waits for its token" if state.is_callback else "runs"
        named = "TimeoutSeconds" in state.body or "TimeoutSecondsPath" in state.body
        why = "its TimeoutSeconds has no most: write $min([...])" if named else "no TimeoutSeconds"
        yield f"{what} without end: {why}"
    if state.type == "Wait" and at_most(state.body.get("Seconds")) is None:
        yield "nothing says how long it waits at most"
    if state.type == "Map" and worst.most_items(machine, state) is None:
        yield "nothing says how many items it has at most"


def _cycles(machine: Machine, worst: Worst) -> Iterator[Finding]:
    for program in machine.program.everywhere():
        for inputs in worst.calls_of(machine):
            cycle = _cycle(worst.counting(machine, program, inputs))
            if cycle is None:
                sentence = "too many states times counters to look at"
                yield Finding(machine.name, "bounds", (*program.place, program.start), sentence)
                break
            if cycle:
                names = [edge.source for edge in cycle]
                way = (*program.place, *shortest(program, names[0]))
                circle = " → ".join([*dict.fromkeys(names), names[0]])
                sentence = f"nothing ends the cycle {circle}: no counter, no deadline"
                yield Finding(machine.name, "bounds", way, sentence)
                break


def _cycle(counting: Counting) -> tuple[Edge, ...] | None:
    try:
        return counting.cycle
    except TooManyWaysError:
        return None


def _histories(machine: Machine, worst: Worst) -> Iterator[Finding]:
    whole = worst.of(machine).events
    if MOST_EVENTS < whole < math.inf:
        sentence = f"up to {whole:,.0f} events, the history ends at {MOST_EVENTS:,}"
        yield Finding(machine.name, "bounds", (machine.program.start,), sentence)
    for state in machine.states():
        item = worst.item(machine, state).events if state.distributed else 0
        if MOST_EVENTS < item < math.inf:
            sentence = f"an item has up to {item:,.0f} events, its history ends at {MOST_EVENTS:,}"
            yield Finding(machine.name, "bounds", way_to(machine, state), sentence)
