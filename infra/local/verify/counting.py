"""Every way through a program with its counters counted: a graph of states and counter values.

A loop that a counter and a Choice bound unrolls into a finite graph without cycles; a cycle that is
left is one that nothing ends.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import networkx as nx

from local.verify.expressions import (
    condition,
    constant,
    growth,
    input_field,
    seconds_ahead,
    variable,
)
from local.verify.machine import EXIT, Edge, Program, State

Json = Any
MOST_NODES: Final = 200_000
PAST: Final = -1
"""Seconds left until a moment that has surely passed."""
Env = tuple[int | None, ...]
Node = tuple[str, Env]


class TooManyWaysError(Exception):
    """The states times their counters are more than can be looked at."""


@dataclass(frozen=True)
class Ceilings:
    """Upper bounds that contracts set: what a step takes, and what it gives.

    Attributes:
        taken: by state name and variable: the step refuses more than that.
        given: by state name and assigned variable: the step never gives more than that.
    """

    taken: Mapping[tuple[str, str], int] = field(default_factory=dict)
    given: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Counting:
    """The ways through one program.

    Attributes:
        program: the states.
        inputs: numbers of the machine's input that its callers write out.
        outer: values of the variables assigned around the program.
        ceilings: what contracts bound.
        life: seconds after which the machine is ended, None for never.
    """

    program: Program
    inputs: Mapping[str, int] = field(default_factory=dict)
    outer: Mapping[str, int] = field(default_factory=dict)
    ceilings: Ceilings = field(default_factory=Ceilings)
    life: int | None = None

    @cached_property
    def graph(self) -> "nx.DiGraph[Node]":
        """Nodes are states with what their live counters hold; an edge's `edge` is the Edge.

        Raises:
            TooManyWaysError: there are more than MOST_NODES.
        """
        graph: nx.DiGraph[Node] = nx.DiGraph()
        first = self._node(self.program.start, self._beginning())
        graph.add_node(first)
        waiting = deque([first])
        while waiting:
            node = waiting.popleft()
            for edge, after in self._steps(node):
                if after not in graph:
                    waiting.append(after)
                if len(graph) > MOST_NODES:
                    raise TooManyWaysError
                graph.add_edge(node, after, edge=edge)
        return graph

    @cached_property
    def cycle(self) -> tuple[Edge, ...]:
        """A cycle that nothing ends, empty when there is none."""
        try:
            found = nx.find_cycle(self.graph)
        except nx.NetworkXNoCycle:
            return ()
        return tuple(self.graph.edges[one]["edge"] for one in found)

    def values_of(self, node: Node) -> Mapping[str, int | None]:
        """What the counters hold at a node."""
        return dict(zip(self._names, node[1], strict=True))

    @cached_property
    def guards(self) -> frozenset[str]:
        """Variables that some Choice, or a step's contract, compares."""
        compared = {
            name
            for edge in self.program.edges()
            for rule in edge.rules
            for one in condition(rule).comparisons()
            for name in one.variables()
        }
        compared |= {name for _, name in self.ceilings.taken}
        copied = {
            (name, str(variable(value)))
            for edge in self.program.edges()
            for name, value in edge.assign.items()
            if variable(value)
        }
        for _ in copied:
            compared |= {source for name, source in copied if name in compared}
        return frozenset(compared)

    @cached_property
    def deadlines(self) -> frozenset[str]:
        """Variables that hold a moment which a Choice compares with the present one."""
        return frozenset(
            name
            for edge in self.program.edges()
            for rule in edge.rules
            for one in condition(rule).comparisons()
            if one.is_deadline
            for name in one.variables()
        )

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(sorted(self.guards))

    @cached_property
    def _most(self) -> int:
        """More than this no counter is compared with."""
        numbers = [*self.inputs.values(), *self.outer.values()]
        numbers += [*self.ceilings.taken.values(), *self.ceilings.given.values()]
        for edge in self.program.edges():
            numbers += [constant(v) or 0 for k, v in edge.assign.items() if k in self.guards]
            for rule in edge.rules:
                for one in condition(rule).comparisons():
                    numbers += [side for side in (one.left, one.right) if isinstance(side, int)]
        return max(numbers, default=0) + 1

    @cached_property
    def _live(self) -> Mapping[str, frozenset[str]]:
        """By state, the variables that it or a later state still compares."""
        live: dict[str, set[str]] = {name: set() for name in self.program.states}
        for name, state in self.program.states.items():
            live[name] |= {n for edge in state.edges for n in self._compared_on(edge)}
        changed = True
        while changed:
            changed = False
            for edge in self.program.edges():
                fresh = live.get(edge.target, set()) - self._set_anew(edge) - live[edge.source]
                if fresh:
                    live[edge.source] |= fresh
                    changed = True
        return {name: frozenset(found) for name, found in live.items()}

    def _compared_on(self, edge: Edge) -> Iterator[str]:
        for rule in edge.rules:
            for one in condition(rule).comparisons():
                yield from one.variables()
        yield from (name for state, name in self.ceilings.taken if state == edge.source)
        # Counters that others are copied or counted from
        for name, value in edge.assign.items():
            if name in self.guards and growth(name, value) is None and variable(value):
                yield str(variable(value))

    def _set_anew(self, edge: Edge) -> set[str]:
        return {name for name, value in edge.assign.items() if growth(name, value) is None}

    def _beginning(self) -> Mapping[str, int | None]:
        return {name: self.outer.get(name) for name in self._names}

    def _node(self, name: str, values: Mapping[str, int | None]) -> Node:
        live = self._live.get(name, frozenset())
        return name, tuple(values[one] if one in live else None for one in self._names)

    def _steps(self, node: Node) -> Iterator[tuple[Edge, Node]]:
        name, env = node
        if name == EXIT:
            return
        state = self.program.states[name]
        values = dict(zip(self._names, env, strict=True))
        values = self._waited(state, values)
        for edge in state.edges:
            bounded = self._bounded(edge, values)
            if bounded is not None and self._may_be_taken(edge, bounded):
                yield edge, self._node(edge.target, self._assigned(edge, bounded))

    def _waited(self, state: State, values: dict[str, int | None]) -> dict[str, int | None]:
        seconds = constant(state.body.get("Seconds")) if state.type == "Wait" else None
        for name in self.deadlines if seconds else ():
            left = values.get(name)
            if left is not None:
                values[name] = max(PAST, left - (seconds or 0))
        return values

    def _bounded(
        self, edge: Edge, values: Mapping[str, int | None]
    ) -> Mapping[str, int | None] | None:
        """The values when the step has taken them; None where its contract refuses them."""
        if edge.way != "next":
            return values
        found = dict(values)
        for (state, name), most in self.ceilings.taken.items():
            if state != edge.source:
                continue
            value = values.get(name)
            if value is not None and value > most:
                return None
            # The largest that may be: exact for a bound, and no counter starts from it
            if value is None and name not in self._counters:
                found[name] = most
        return found

    @cached_property
    def _counters(self) -> frozenset[str]:
        return frozenset(
            name
            for edge in self.program.edges()
            for name, value in edge.assign.items()
            if growth(name, value)
        )

    def _may_be_taken(self, edge: Edge, values: Mapping[str, int | None]) -> bool:
        if not edge.rules:
            return True
        numbers = {k: v for k, v in values.items() if k not in self.deadlines}
        left = {k: v for k, v in values.items() if k in self.deadlines}
        held = [condition(rule).holds(numbers, left) for rule in edge.rules]
        earlier = held if edge.way == "default" else held[:-1]
        return True not in earlier and (edge.way == "default" or held[-1] is not False)

    def _assigned(self, edge: Edge, values: Mapping[str, int | None]) -> Mapping[str, int | None]:
        after = dict(values)
        for name, value in edge.assign.items():
            if name in self.guards:
                after[name] = self._value(edge, name, value, values)
        return after

    def _value(
        self, edge: Edge, name: str, value: Json, values: Mapping[str, int | None]
    ) -> int | None:
        if name in self.deadlines:
            ahead = seconds_ahead(value)
            return self.life if ahead is None else ahead
        grows = growth(name, value)
        before = values.get(name)
        if grows:
            return None if before is None else min(before + grows, self._most)
        known = constant(value)
        if known is None and variable(value):
            known = values.get(str(variable(value)))
        if known is None and edge.source == self.program.start and not self.program.place:
            known = self.inputs.get(input_field(value) or "")
        if known is None and edge.way == "next":
            known = self.ceilings.given.get((edge.source, name))
        return known
