"""What is known of the values that flow through machines; what is not known is allowed everything.

Variables are known by name in a machine, whatever state reads them; from a machine to its children
and back again, contracts, inputs and outputs say what flows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from local.verify.machine import LAMBDA, Machine, State
from local.verify.reads import Read, path_of
from local.verify.shapes import ANYTHING, START, Shape
from local.verify.ways import programs_around
from local.verify.world import World

Json = Any
Path = tuple[str, ...]
ROUNDS: Final = 4
"""As often as shapes may have to pass from a parent to its child and back."""
_PAYLOAD: Final = ("result", "Payload")
_OUTPUT: Final = ("result", "Output")
_ITEM: Final = ("context", "Map", "Item", "Value")
_INPUT: Final = ("input",)
_STARTED: Final = ("context", "Execution", "Input")


@dataclass
class Flow:
    """Shapes of the input, output and variables of one machine."""

    takes: Shape = ANYTHING
    gives: Shape = ANYTHING
    variables: dict[str, Shape] = field(default_factory=dict)


@dataclass
class Flows:
    """The flows of a world.

    Attributes:
        world: the machines.
    """

    world: World
    _known: dict[str, Flow] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for machine in self.world.machines.values():
            takes = self.world.starts.get(machine.arn, ANYTHING)
            self._known[machine.arn] = Flow(takes)
        for _ in range(ROUNDS):
            for machine in self.world.machines.values():
                self._learn(machine)

    def read(self, machine: Machine, state: State, read: Read) -> tuple[Shape, str]:
        """The shape of what is read, and what is wrong with reading it, "" for nothing."""
        if read.variable != "states":
            known = self._known[machine.arn].variables.get(read.variable, ANYTHING)
            return self._below(machine, known, f"${read.variable}", read.fields)
        for root in (_PAYLOAD, _OUTPUT, _ITEM, _INPUT, _STARTED):
            if read.fields[: len(root)] == root:
                shape = self._root(machine, state, root)
                name = "$states." + ".".join(root)
                return self._below(machine, shape, name, read.fields[len(root) :])
        return ANYTHING, ""

    def shape(self, machine: Machine, state: State, value: Json) -> Shape:
        """The shape of a value that a state writes."""
        if isinstance(value, Mapping):
            parts = {name: self.shape(machine, state, part) for name, part in value.items()}
            return Shape(parts, frozenset(parts))
        path = path_of(value)
        return self.read(machine, state, path)[0] if path else ANYTHING

    def _learn(self, machine: Machine) -> None:
        flow = self._known[machine.arn]
        fresh: dict[str, Shape] = {}
        for state in machine.states():
            for edge in state.edges:
                for name, value in edge.assign.items():
                    shape = self.shape(machine, state, value)
                    known = fresh.get(name)
                    fresh[name] = shape if known is None else joined(known, shape)
            child = self.world.child(state)
            if child is not None:
                given = self.shape(machine, state, state.arguments.get("Input"))
                self._known[child.arn].takes = given
        flow.variables = fresh
        flow.gives = self._gives(machine)

    def _gives(self, machine: Machine) -> Shape:
        ends = [
            self.shape(machine, state, state.body["Output"]) if "Output" in state.body else ANYTHING
            for state in machine.program.states.values()
            if state.body.get("End") is True or state.type == "Succeed"
        ]
        found = ends[0] if ends else ANYTHING
        for other in ends[1:]:
            found = joined(found, other)
        return found

    def _root(self, machine: Machine, state: State, root: Path) -> Shape:
        if root == _PAYLOAD:
            function = self.world.function(state) if state.resource == LAMBDA else None
            return function.gives if function else ANYTHING
        if root == _OUTPUT:
            child = self.world.child(state) if state.resource.endswith(".sync:2") else None
            return self._known[child.arn].gives if child else ANYTHING
        if root == _STARTED:
            return self._known[machine.arn].takes
        if root == _ITEM:
            return replace(self.shape(machine, state, state.body.get("Items")), most=None)
        return self._input(machine, state)

    def _input(self, machine: Machine, state: State) -> Shape:
        """What enters a state; known where it is the first one."""
        *around, (program, _) = programs_around(machine, state)
        if state.name != program.start:
            return ANYTHING
        if not around:
            return self._known[machine.arn].takes
        outer = around[-1][1]
        if outer.type != "Map" or "ItemBatcher" in outer.body:
            return ANYTHING
        return self.shape(machine, outer, outer.body.get("ItemSelector"))

    def _below(self, machine: Machine, shape: Shape, read: str, fields: Path) -> tuple[Shape, str]:
        for name in fields:
            if shape is START:
                shape = self.world.starts.get(machine.arn, ANYTHING)
            if shape.shut:
                return ANYTHING, f"looks below {read}, which travels by reference"
            if shape.fields is None:
                return ANYTHING, ""
            if name not in shape.fields:
                return ANYTHING, f"reads {name} of {read}, which has no such field"
            shape, read = shape.fields[name], f"{read}.{name}"
        return shape, ""


def joined(one: Shape, other: Shape) -> Shape:
    """What holds of both."""
    if one.shut or other.shut:
        return Shape(shut=True)
    if one.fields is None or other.fields is None or one is START or other is START:
        return one if one == other else ANYTHING
    names = one.fields.keys() & other.fields.keys()
    fields = {name: joined(one.fields[name], other.fields[name]) for name in names}
    return Shape(fields, one.required & other.required)
