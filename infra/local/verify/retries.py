"""How often a model is asked at most for each call, and that Retry follows the policies.

The handler makes one request a try; the rest multiplies: the tries of its state, the visits that
corrections, throttle returns and lost admissions make, the machines around it, and redrives.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import networkx as nx

from local.verify.counting import TooManyWaysError
from local.verify.expressions import growth
from local.verify.findings import Finding
from local.verify.machine import Machine, State
from local.verify.settings import Settings
from local.verify.tries import most_asking
from local.verify.world import World
from local.verify.worst import Worst

Json = Any
HANDLER_ATTEMPTS: Final = 1
"""Each client makes one HTTP attempt; tests count the requests that reach the endpoint."""


@dataclass(frozen=True)
class Call:
    """One model call of one workflow.

    Attributes:
        machine: the machine at the root.
        path: states from the root's to the one that asks, through children, Maps and Parallels.
        tries: of the state, with a model asked.
        counters: how often each counter of the machine that asks grows at most.
        redrives: how often the run is redriven at most.
        different: how many different requests are made: one for each item of a Map or a list.
        requests: how often the same one is sent at most.
        seconds: in that state for one of them, the most.
        why: what is not bounded.
    """

    machine: str
    path: tuple[str, ...]
    tries: int
    counters: Mapping[str, float]
    redrives: int
    different: float
    requests: float
    seconds: float
    why: tuple[str, ...] = ()


def calls(world: World, settings: Settings) -> list[Call]:
    """Every model call of every machine that no other starts."""
    worst = Worst(world)
    return [
        _call(worst, settings, machine, path, owner, state)
        for machine in roots(world)
        for path, owner, state in _sites(world, machine, (), ())
    ]


def roots(world: World) -> list[Machine]:
    """The machines that no other starts, and those that only start one another."""
    inside = {id(world.child(state)) for m in world.machines.values() for state in m.states()}
    return [m for m in world.machines.values() if id(m) not in inside] or list(
        world.machines.values()
    )


def endless(call: Call) -> Iterator[Finding]:
    """Figures of a call without bound, and why."""
    figures = {
        "requests": max(call.requests, call.different),
        "seconds": call.seconds,
    }
    for what, most in figures.items():
        if math.isinf(most):
            reasons = "; ".join(call.why) or "nothing bounds it"
            yield Finding(call.machine, "retries", call.path, f"no bound on {what}: {reasons}")


def over_limits(found: list[Call], settings: Settings) -> Iterator[Finding]:
    """Calls with more requests or seconds than their machine's limits allow."""
    for call in found:
        limits = settings.limits.get(call.machine, {})
        for name, most in (("call_requests", call.requests), ("call_seconds", call.seconds)):
            what = name.removeprefix("call_")
            allowed = limits.get(name)
            if math.isinf(most):
                continue
            if allowed is None:
                sentence = f"declare a limit {name} for {call.machine} in pyproject.toml"
                yield Finding(call.machine, "limits", call.path, sentence)
            elif most > allowed:
                sentence = f"up to {most:,.0f} {what}, over the limit of {allowed:,}"
                yield Finding(call.machine, "limits", call.path, sentence)


def _sites(
    world: World, machine: Machine, path: tuple[str, ...], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Machine, State]]:
    if machine.arn in above:
        return
    for state in machine.states():
        here = (*path, *state.path)
        if world.asks_model(state):
            yield here, machine, state
        child = world.child(state)
        if child is not None:
            yield from _sites(world, child, here, (*above, machine.arn))


def _call(
    worst: Worst,
    settings: Settings,
    machine: Machine,
    path: tuple[str, ...],
    owner: Machine,
    state: State,
) -> Call:
    most = replace(worst, only=state, one=True, _known={}, _open=[]).of(machine)
    whole = replace(worst, only=state, _known={}, _open=[]).of(machine)
    again = 1 + settings.redrives
    return Call(
        machine=machine.name,
        path=path,
        tries=most_asking(state),
        counters=dict(_counters(worst, owner, state)),
        redrives=settings.redrives,
        different=whole.requests / most.requests if math.isfinite(most.requests) else math.inf,
        requests=most.requests * HANDLER_ATTEMPTS * again,
        seconds=most.seconds * again,
        why=tuple(whole.reasons("requests") or most.reasons("seconds")),
    )


def _counters(worst: Worst, machine: Machine, state: State) -> Iterator[tuple[str, float]]:
    """How often each counter of the program around a state grows on one way."""
    program = next(p for p in machine.program.everywhere() if state in p.states.values())
    names = {
        name
        for edge in program.edges()
        for name, value in edge.assign.items()
        if growth(name, value)
    }
    for name in sorted(names):
        yield (
            name,
            max(_grows(worst, machine, program, name, one) for one in worst.calls_of(machine)),
        )


def _grows(worst: Worst, machine: Machine, program: Any, name: str, inputs: Any) -> float:
    try:
        graph = worst.counting(machine, program, inputs).graph
    except TooManyWaysError:
        return math.inf
    if not nx.is_directed_acyclic_graph(graph):
        return math.inf
    longest: dict[Any, int] = {}
    for node in nx.topological_sort(graph):
        longest[node] = max(
            (
                longest[before]
                + bool(growth(name, graph.edges[before, node]["edge"].assign.get(name)))
                for before in graph.predecessors(node)
            ),
            default=0,
        )
    return max(longest.values())
