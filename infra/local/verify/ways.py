"""Ways to a state, as people read them: names from the machine's first state on."""

from collections.abc import Iterable

import networkx as nx

from local.verify.machine import EXIT, Edge, Machine, Program, State


def programs_around(machine: Machine, state: State) -> list[tuple[Program, State]]:
    """The programs around a state from the outermost on, each with the state that leads inside."""
    found: list[tuple[Program, State]] = []
    program = machine.program
    for name in state.place:
        around = program.states[name]
        found.append((program, around))
        program = next(
            inner
            for inner in around.inner
            if any(state in deep.states.values() for deep in inner.everywhere())
        )
    return [*found, (program, state)]


def way_to(machine: Machine, state: State) -> tuple[str, ...]:
    """Names of the states on a shortest way to a state, through the Maps and Parallels around."""
    return tuple(
        name
        for program, within in programs_around(machine, state)
        for name in shortest(program, within.name)
    )


def shortest(program: Program, target: str, edges: Iterable[Edge] | None = None) -> tuple[str, ...]:
    """Names of the states on a shortest way from the first one; the target alone without one."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_node(program.start)
    found = program.edges() if edges is None else edges
    graph.add_edges_from((edge.source, edge.target) for edge in found if edge.target != EXIT)
    try:
        return tuple(nx.shortest_path(graph, program.start, target))
    except (nx.NetworkXNoPath, nx.NodeNotFound):
        return (target,)
