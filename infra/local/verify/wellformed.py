"""A machine is one that Step Functions accepts, its JSONata parses, and every state is used."""

import re
from collections.abc import Iterator
from typing import Final

import networkx as nx

from local.stepfunctions.validation import diagnose
from local.stepfunctions.validation_states import Diagnostic
from local.verify.findings import Finding
from local.verify.machine import Machine, Program

_STATE: Final = re.compile(r"/States/([^/]+)")


def wellformed(machine: Machine) -> Iterator[Finding]:
    """What the service would refuse, and states that no way leads to."""
    if machine.language == "JSONata":
        _, found = diagnose(machine.text, "EXPRESS" if machine.express else "STANDARD")
        for one in found:
            if one.severity == "ERROR" and not _is_ours(one):
                way = tuple(_STATE.findall(one.location or "")) or (machine.program.start,)
                yield Finding(machine.name, "data", way, one.sentence)
    for program in machine.program.everywhere():
        for name in _unreached(program):
            yield Finding(machine.name, "data", (*program.place, name), "no way leads here")


def _is_ours(one: Diagnostic) -> bool:
    """Whether it is told below, or speaks of a placeholder that nothing has filled."""
    return "is not reachable" in one.message or "${" in one.sentence


def _unreached(program: Program) -> Iterator[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_node(program.start)
    graph.add_edges_from((edge.source, edge.target) for edge in program.edges())
    reached = {program.start, *nx.descendants(graph, program.start)}
    yield from (name for name in program.states if name not in reached)
