"""Ways to a state, as people read them: names from the machine's first state on."""

from collections.abc import Iterable

import networkx as nx

from local.verify.machine import EXIT, Edge, Machine, Program, State


def way_to(machine: Machine, state: State) -> tuple[str, ...]:
    """Names of the states on a shortest way to a state, through the Maps and Parallels around."""
    program = machine.program
    path: tuple[str, ...] = ()
    for around in state.place:
        path += shortest(program, around)
        program = next(
            inner
            for inner in program.states[around].inner
            if any(state in deep.states.values() for deep in inner.everywhere())
        )
    return path + shortest(program, state.name)


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
