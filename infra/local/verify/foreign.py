"""What cannot be judged is named: another query language, functions and machines from elsewhere."""

from collections.abc import Iterator

from local.verify.findings import Finding
from local.verify.machine import LAMBDA, NESTED, Machine, State
from local.verify.ways import way_to
from local.verify.world import World, function_arn


def foreign(world: World, machine: Machine) -> Iterator[Finding]:
    """Notes about what a machine holds that verification does not know."""
    if machine.language != "JSONata":
        sentence = (
            f"is written in {machine.language}: ways, timeouts and retries are judged,"
            " expressions are not"
        )
        yield Finding(machine.name, "foreign", (machine.program.start,), sentence, note=True)
    for state in machine.states():
        sentence = _unknown(world, state)
        if sentence:
            yield Finding(machine.name, "foreign", way_to(machine, state), sentence, note=True)


def _unknown(world: World, state: State) -> str:
    runs_function = state.resource.startswith(LAMBDA) or bool(function_arn(state))
    if runs_function and world.function(state) is None:
        name = function_arn(state) or "a function named at run time"
        return f"what {name} may do is not known: it is taken for harmless"
    if state.resource.startswith(NESTED) and world.child(state) is None:
        return "starts a machine that is not here: what it costs is not known"
    if ":activity:" in state.resource:
        return "what the activity's worker does is not known: it is taken for harmless"
    return ""
