"""Every effect can be undone, and is written down before it happens."""

from collections.abc import Iterator

from local.verify.findings import Finding
from local.verify.machine import Machine, State
from local.verify.ways import way_to
from local.verify.world import Function, World


def undo(world: World, machine: Machine) -> Iterator[Finding]:
    """Effects without compensation, or without a written intent."""
    steps = {function.step for function in world.functions.values()}
    for state in machine.states():
        if world.has_effect(state):
            for sentence in _problems(world.function(state), state, steps):
                yield Finding(machine.name, "undo", way_to(machine, state), sentence)


def _problems(function: Function | None, state: State, steps: set[str]) -> Iterator[str]:
    if function is None:
        yield (
            f"{state.resource.rpartition(':::')[2]} changes something outside, and nothing undoes"
            " it: let a step do it that declares compensated_by"
        )
        return
    if not function.compensated_by:
        yield "has an effect and declares no compensated_by"
    elif function.compensated_by not in steps:
        yield f"is undone by {function.compensated_by}, which is no step here"
    if not function.intends:
        yield "has an effect and does not write its intent before it acts"
