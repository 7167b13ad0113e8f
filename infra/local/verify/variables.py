"""Every variable is bound, on every way, before it is read."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Final

from local.verify.findings import Finding
from local.verify.machine import EXIT, Machine, Program, State
from local.verify.reads import Read, reads_of
from local.verify.ways import programs_around, shortest, way_to
from local.verify.world import World, function_arn

Names = frozenset[str]
STEP_RUN: Final = "run"
_LIBRARY: Final = """
abs append assert average base64decode base64encode boolean ceil clone contains count decodeUrl
decodeUrlComponent distinct each encodeUrl encodeUrlComponent error eval exists filter floor
formatBase formatInteger formatNumber fromMillis hash join keys length lookup lowercase map match
max merge millis min not now number pad parse parseInteger partition power random range reduce
replace reverse round shuffle sift single sort split spread sqrt string substring substringAfter
substringBefore sum toMillis trim type uppercase uuid zip
"""
LIBRARY: Final = frozenset(_LIBRARY.split())
"""Functions of JSONata, which may be handed on like values."""


def variables(world: World, machine: Machine) -> Iterator[Finding]:
    """Reads of variables that some way leaves unbound."""
    if machine.language != "JSONata":
        return
    assigned = {name for p in machine.program.everywhere() for e in p.edges() for name in e.assign}
    yield from _program(machine, machine.program, frozenset(), assigned)
    yield from _unread(machine)
    yield from _without_run(world, machine)


def _program(
    machine: Machine, program: Program, outer: Names, assigned: set[str]
) -> Iterator[Finding]:
    bound = _bound(program, outer)
    for name, state in program.states.items():
        known = bound.get(name)
        if known is None:  # no way leads here
            continue
        read = {read.variable for read in reads_of(state)} & (assigned | outer)
        for missing in sorted(read - known):
            sentence = f"reads ${missing}, which is not bound on this way"
            yield Finding(machine.name, "data", _way(machine, state, missing), sentence)
        for inner in state.inner:
            inside = frozenset() if state.distributed else known
            yield from _program(machine, inner, inside, assigned)
    yield from _nowhere(machine, program, assigned)


def _nowhere(machine: Machine, program: Program, assigned: set[str]) -> Iterator[Finding]:
    for state in program.states.values():
        for read in reads_of(state):
            if read.variable not in assigned | {"states"} and not _is_function(read):
                way = (*program.place, *shortest(program, state.name))
                yield Finding(
                    machine.name, "data", way, f"reads ${read.variable}, assigned nowhere"
                )


def _is_function(read: Read) -> bool:
    """Whether a function of JSONata is handed on: it stands as an argument."""
    handed_on = re.search(rf"\${read.variable}\s*[,)]", read.expression)
    return read.variable in LIBRARY and handed_on is not None


def _unread(machine: Machine) -> Iterator[Finding]:
    """Variables that nothing reads: most likely another name was meant."""
    read = {one.variable for state in machine.states() for one in reads_of(state)}
    for program in machine.program.everywhere():
        for edge in program.edges():
            for name in sorted(edge.assign.keys() - read):
                way = (*program.place, *shortest(program, edge.source))
                yield Finding(machine.name, "data", way, f"binds ${name}, which nothing reads")


def _bound(program: Program, outer: Names) -> dict[str, Names]:
    """By state, the variables that are bound on every way to it."""
    found = {program.start: outer}
    waiting = deque([program.start])
    while waiting:
        name = waiting.popleft()
        for edge in program.states[name].edges:
            if edge.target == EXIT:
                continue
            after = found[name] | edge.assign.keys()
            before = found.get(edge.target)
            both = after if before is None else before & after
            if both != before:
                found[edge.target] = both
                waiting.append(edge.target)
    return found


def _way(machine: Machine, state: State, name: str) -> tuple[str, ...]:
    """A shortest way to the state that does not bind the variable."""
    return tuple(
        one
        for program, within in programs_around(machine, state)
        for one in shortest(
            program, within.name, (edge for edge in program.edges() if name not in edge.assign)
        )
    )


def _without_run(world: World, machine: Machine) -> Iterator[Finding]:
    """The steps inside a Distributed Map need the run, and see no variable of the machine."""
    for state in machine.states():
        if not state.distributed or not _runs_steps(world, state):
            continue
        batcher = state.body.get("ItemBatcher") or {}
        given = {**(state.body.get("ItemSelector") or {}), **(batcher.get("BatchInput") or {})}
        if STEP_RUN not in given:
            sentence = "its items do not get run: put it into ItemSelector or BatchInput"
            yield Finding(machine.name, "data", way_to(machine, state), sentence)


def _runs_steps(world: World, state: State) -> bool:
    for program in state.inner:
        for deep in program.everywhere():
            for one in deep.states.values():
                function = world.function(one)
                if (function and function.step) or (function_arn(one) and "run" in str(one.body)):
                    return True
    return False
