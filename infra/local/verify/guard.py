"""No state asks a model or changes something outside without an admission of that very call.

For each such state a way is searched that enters it unadmitted. Whoever admits and asks has to name
the same call, by an expression that means the same in both; an admission is good for one visit.
"""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from local.verify.expressions import names_in
from local.verify.findings import Finding
from local.verify.machine import EXIT, Edge, Machine, Program, State
from local.verify.retries import roots
from local.verify.ways import programs_around, way_to
from local.verify.world import World

Json = Any
Way = tuple[str, ...]
_PASSING: Final = re.compile(
    r"\$states\.(?!context\.(?:Execution|StateMachine|Map)\b)"
    r"|\$(?:random|uuid|now|millis)\s*\("
)
"""What means something else in another state, or at another time."""
_ITEM: Final = "$states.context.Map.Item"
_FIELD: Final = re.compile(r"\$states\.input(?:\.(\w+))?")


def guard(world: World, machine: Machine) -> Iterator[Finding]:
    """Calls that may be made unadmitted, and admissions that nobody settles."""
    for state in machine.states():
        if world.is_guarded(state):
            yield from _unguarded(world, machine, state)
        if world.is_guarded(state) or world.child(state):
            yield from _same_for_all(machine, state)
        if world.admits(state):
            yield from _untold(world, machine, state)
    yield from _unsettled(world, machine)


def _unguarded(world: World, machine: Machine, state: State) -> Iterator[Finding]:
    call = call_of(state)
    what = "asks a model" if world.asks_model(state) else "changes something outside"
    if call is not None and _PASSING.search(call):
        sentence = f"{what} under a name that is another one where it is admitted: {call}"
        yield Finding(machine.name, "guard", way_to(machine, state), sentence)
        return
    way = _Search(world, call, call is not None).way(machine, state)
    if way is not None:
        named = f" of call {call}" if call else ""
        yield Finding(machine.name, "guard", way, f"{what} without an Admit{named} on this way")


@dataclass(frozen=True)
class _Search:
    """The search for a way on which a call is not admitted.

    Attributes:
        world: what the states run.
        call: the call, None when the state names none: then any admission will do.
        named: whether it names one.
    """

    world: World
    call: str | None
    named: bool

    def way(self, machine: Machine, state: State) -> Way | None:
        """A shortest way that enters the state unadmitted, None when there is none."""
        entries: dict[bool, Way] = {False: ()}
        for program, within in programs_around(machine, state):
            found = self._reached(program, within, entries)
            entries = {
                admitted: entries[entered] + names for admitted, (entered, names) in found.items()
            }
            if within is not state:
                entries = self._inside(within, entries)
        return entries.get(False)

    def _reached(
        self, program: Program, state: State, entries: Mapping[bool, Way]
    ) -> dict[bool, tuple[bool, Way]]:
        """Ways to a state, by whether the call is admitted there, with how they began."""
        first: list[tuple[str, bool, bool, Way]] = [
            (program.start, admitted, admitted, (program.start,)) for admitted in entries
        ]
        waiting = deque(first)
        seen = {(name, admitted) for name, admitted, _, _ in first}
        found: dict[bool, tuple[bool, Way]] = {}
        while waiting:
            name, admitted, entered, names = waiting.popleft()
            if name == state.name:
                found.setdefault(admitted, (entered, names))
            for edge in program.states[name].edges:
                after = self._after(program.states[name], edge, admitted)
                if edge.target != EXIT and (edge.target, after) not in seen:
                    seen.add((edge.target, after))
                    waiting.append((edge.target, after, entered, (*names, edge.target)))
        return found

    def _after(self, state: State, edge: Edge, admitted: bool) -> bool:
        """Whether the call is admitted beyond an edge."""
        if self.named and names_in(self.call or "") & edge.assign.keys():
            return False
        if self.world.admits(state) and edge.way == "next":
            return admitted or not self.named or call_of(state) == self.call
        return admitted and not self._uses(state)

    def _uses(self, state: State) -> bool:
        """Whether a visit uses the admission up, by itself or by what is inside."""
        own = self.world.is_guarded(state) and (not self.named or call_of(state) == self.call)
        return own or any(self._uses(one) for p in state.inner for one in p.states.values())

    def _inside(self, around: State, entries: Mapping[bool, Way]) -> dict[bool, Way]:
        """How the programs of a Map or Parallel begin: many items cannot share one admission."""
        users = sum(any(map(self._uses, inner.states.values())) for inner in around.inner)
        if around.type == "Map" or users > 1 or around.body.get("Retry"):
            return {False: next(iter(entries.values()))} if entries else {}
        return dict(entries)


def call_of(state: State) -> str | None:
    """The expression by which a state names its call, None when it names none."""
    found = state.input.get("call")
    return None if found is None else found if isinstance(found, str) else json.dumps(found)


def _same_for_all(machine: Machine, state: State) -> Iterator[Finding]:
    """Items of a Map that would all make one and the same call."""
    given = state.arguments.get("Input")
    own = given.get("call") if isinstance(given, Mapping) else None
    call = call_of(state) or (own if isinstance(own, str) else None)
    if call is None or _ITEM in call:
        return
    for _, around in programs_around(machine, state)[:-1]:
        if around.type == "Map" and not _depends(call, _differing(around), around):
            sentence = f"names the same call for every item of {around.name}: {call}"
            yield Finding(machine.name, "guard", way_to(machine, state), sentence)
            return


def _differing(around: State) -> set[str]:
    """Variables that may hold something else for each item of a Map."""
    edges = [e for p in around.inner for deep in p.everywhere() for e in deep.edges()]
    found: set[str] = set()
    before = -1
    while before != len(found):
        before = len(found)
        for edge in edges:
            for name, value in edge.assign.items():
                if _depends(json.dumps(value), found, around):
                    found.add(name)
    return found


def _depends(text: str, names: set[str], around: State) -> bool:
    """Whether a value differs from item to item, given the variables that do."""
    selected = around.body.get("ItemSelector")
    given = selected if isinstance(selected, Mapping) else {}
    for field in _FIELD.findall(text):
        if field not in given or _ITEM in json.dumps(given[field]):
            return True
    return _ITEM in text or "$states.result" in text or bool(names_in(text) & names)


def _untold(world: World, machine: Machine, state: State) -> Iterator[Finding]:
    """Who admits has to see what is asked, as the values that travel by reference show it."""
    function = world.function(state)
    fields = (function.takes.fields if function and function.takes else None) or {}
    shown = {name for name, shape in fields.items() if shape.shut}
    if shown and not shown & state.input.keys():
        sentence = f"is not told what it admits: hand over {' or '.join(sorted(shown))}"
        yield Finding(machine.name, "guard", way_to(machine, state), sentence)


def _unsettled(world: World, machine: Machine) -> Iterator[Finding]:
    """What a run leaves open when it ends is settled by the function that hears of its end."""
    admits = next((state for state in machine.states() if world.admits(state)), None)
    if admits is None:
        return
    for root in roots(world):
        if root.arn not in world.closed and machine in world.reached(root):
            sentence = (
                f"nobody settles what a run of {root.name} leaves admitted when it ends:"
                " close_run has to hear of every status"
            )
            yield Finding(machine.name, "guard", way_to(machine, admits), sentence)
