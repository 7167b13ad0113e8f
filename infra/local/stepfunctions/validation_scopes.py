"""Variables and their scopes: what is bound outside cannot be assigned inside."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.validation_states import Diagnostic

_RESERVED: Final = "states"


def shadowed(program: Mapping[str, Any], place: str, outer: frozenset[str]) -> Iterator[Diagnostic]:
    """Assignments that AWS refuses: of outer variables inside, and of the name `states`.

    Args:
        program: a machine, a branch or an item processor.
        place: where it stands.
        outer: the variables that states around it assign.
    """
    states = program.get("States")
    if not isinstance(states, dict):
        return
    own: dict[str, set[str]] = {name: set() for name in states}
    for name, state in states.items():
        for at, variable in _assigned(state, f"{place}/States/{name}"):
            own[name].add(variable)
            if variable == _RESERVED:
                sentence = "The variable name 'states' is reserved"
                yield Diagnostic("SCHEMA_VALIDATION_FAILED", sentence, at)
            elif variable in outer:
                sentence = f"The variable '{variable}' is already assigned in an outer scope"
                yield Diagnostic("SCHEMA_VALIDATION_FAILED", sentence, at)
    for name, state in states.items():
        # What the state around them assigns itself, on its way out, is no matter to them.
        others = [variables for other, variables in own.items() if other != name]
        around = outer.union(*others)
        for below, inner in inner_programs(state, f"{place}/States/{name}"):
            # The children of a Distributed Map are executions of their own.
            seen = frozenset() if _distributed(inner) else around
            yield from shadowed(inner, below, seen)


def inner_programs(state: JsonValue, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The branches and the item processor of a state, each with its place."""
    if not isinstance(state, dict):
        return
    branches = state.get("Branches")
    for number, branch in enumerate(branches if isinstance(branches, list) else ()):
        if isinstance(branch, dict):
            yield f"{place}/Branches[{number}]", branch
    for name in ("ItemProcessor", "Iterator"):
        if isinstance(state.get(name), dict):
            yield f"{place}/{name}", state[name]


def _distributed(inner: Mapping[str, Any]) -> bool:
    config = inner.get("ProcessorConfig")
    return isinstance(config, dict) and config.get("Mode") == "DISTRIBUTED"


def _assigned(state: JsonValue, place: str) -> Iterator[tuple[str, str]]:
    if not isinstance(state, dict):
        return
    places: list[tuple[str, JsonValue]] = [(place, state)]
    for field in ("Choices", "Catch"):
        entries = state.get(field)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            places.append((f"{place}/{field}[{number}]", entry))
    for at, holder in places:
        assign = holder.get("Assign") if isinstance(holder, dict) else None
        if isinstance(assign, dict):
            yield from ((f"{at}/Assign/{name}", name.removesuffix(".$")) for name in assign)
