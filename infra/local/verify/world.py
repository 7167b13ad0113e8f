"""What the template says around the machines: functions, children, who closes a run, the money."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from autoops.domain.pricing import Tier
from local.verify.counting import Ceilings
from local.verify.expressions import expression, variable
from local.verify.machine import LAMBDA, NESTED, Machine, Program, State
from local.verify.shapes import ANYTHING, Shape

Json = Any
_QUALIFIER: Final = re.compile(r":(?:\d+|\$LATEST|[A-Za-z][\w-]*)$")
_FUNCTION: Final = re.compile(r"arn:[\w-]+:lambda:[^:]*:[^:]*:function:([^:]+)")
_PAYLOAD: Final = re.compile(r"\$states\.result\.Payload\.(\w+)")
PAID_SERVICES: Final = ("bedrock:", "aws-sdk:bedrockruntime:", "aws-sdk:bedrockagentruntime:")
HARMLESS: Final = ("get", "list", "describe", "query", "scan", "head", "batchGet", "detect")
UNQUALIFIED_PARTS: Final = 7
INVISIBLE: Final = frozenset({"lambda:invoke", "states:startExecution"})


@dataclass(frozen=True)
class Function:
    """What is known of a Lambda function.

    Attributes:
        name: logical id.
        step: folder of its step, "" for none of ours.
        asks_model: whether it may call a model, by its permissions and layers.
        models: ids of the models that it may ask.
        per_item: input field of which every item is a request of its own, "" where one is made.
        most_output: most tokens of one answer, as its requests name them.
        tiers: service tiers that its requests may name.
        admits: whether it admits calls.
        has_effect: whether it changes something outside that has to be undone.
        compensated_by: the step that undoes it, "" for none.
        intends: whether the intent is written before it acts.
        once: whether a second delivery of the same request does nothing.
        timeout: seconds.
        lease: seconds that a worker of it is believed to be at work without a word, 0 for none.
        takes: of its step's input, None for a function that is none of ours.
        gives: of its step's output.
        most_bytes: of that output, None where its contract does not bound it.
    """

    name: str
    step: str = ""
    asks_model: bool = False
    models: tuple[str, ...] = ()
    per_item: str = ""
    most_output: int | None = None
    tiers: tuple[Tier, ...] = ("default",)
    admits: bool = False
    has_effect: bool = False
    compensated_by: str = ""
    intends: bool = False
    once: bool = False
    timeout: int = 900
    lease: int = 0
    takes: Shape | None = None
    gives: Shape = ANYTHING
    most_bytes: int | None = None

    @property
    def is_guarded(self) -> bool:
        """Whether it may run only under an admission."""
        return not self.admits and (self.asks_model or self.has_effect)


@dataclass(frozen=True)
class World:
    """Everything that is verified together.

    Attributes:
        machines: by ARN without version.
        functions: by ARN without version.
        closed: ARNs of the machines whose end `close_run` is told, for every status.
        starts: of the input of the machines that are started from outside, by ARN.
        ceilings: nano-dollars of a run by machine ARN.
    """

    machines: Mapping[str, Machine]
    functions: Mapping[str, Function] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    starts: Mapping[str, Shape] = field(default_factory=dict)
    ceilings: Mapping[str, int] = field(default_factory=dict)

    def function(self, state: State) -> Function | None:
        """The function that a Task runs, None for none or one that is not known."""
        return self.functions.get(unqualified(function_arn(state)))

    def child(self, state: State) -> Machine | None:
        """The machine that a Task starts, None for none or one that is not known."""
        if not state.resource.startswith(NESTED):
            return None
        return self.machines.get(unqualified(str(state.arguments.get("StateMachineArn", ""))))

    def parents(self, machine: Machine) -> list[tuple[Machine, State]]:
        """Every state that starts the machine."""
        return [
            (parent, state)
            for parent in self.machines.values()
            for state in parent.states()
            if self.child(state) is machine
        ]

    def reached(self, machine: Machine) -> list[Machine]:
        """A machine and all that it starts, directly or not."""
        found: list[Machine] = []
        waiting = [machine]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.append(one)
                waiting += [child for state in one.states() if (child := self.child(state))]
        return found

    def ceilings_in(self, program: Program) -> Ceilings:
        """What contracts bound in a program: counters handed to steps, numbers got from them."""
        taken: dict[tuple[str, str], int] = {}
        given: dict[tuple[str, str], int] = {}
        for name, state in program.states.items():
            function = self.function(state)
            if function is None:
                continue
            for key, value in state.input.items():
                most = _field(function.takes, key).most
                if variable(value) and most is not None:
                    taken[name, str(variable(value))] = most
            for key, value in state.edges[0].assign.items() if state.edges else ():
                given_most = self._length(state, value)
                if given_most is not None:
                    given[name, key] = given_most
        return Ceilings(taken, given)

    def longest(self, machine: Machine, state: State, items: Json) -> int | None:
        """Most items of a list that a state reads, None where no contract says so.

        Args:
            machine: the machine.
            state: the state that reads it.
            items: the expression that gives the list.
        """
        name = variable(items) or ""
        around = [p for p in machine.program.everywhere() if state.place[: len(p.place)] == p.place]
        most = [
            self._length(one, edge.assign[name])
            for program in around
            for one in program.states.values()
            for edge in one.edges
            if name in edge.assign
        ]
        return max(most) if most and None not in most else None  # type: ignore[type-var]  # checked

    def _length(self, state: State, value: Json) -> int | None:
        if isinstance(value, list):
            return len(value)
        function = self.function(state)
        found = _PAYLOAD.fullmatch(expression(value) or "")
        return _field(function.gives, found[1]).most if function and found else None

    def asks_model(self, state: State) -> bool:
        """Whether a state can call a model."""
        function = self.function(state)
        return bool(function and function.asks_model and not function.admits) or any(
            service in state.resource for service in PAID_SERVICES
        )

    def has_effect(self, state: State) -> bool:
        """Whether a state changes something outside."""
        function = self.function(state)
        if function is not None:
            return function.has_effect
        action = service_action(state)
        return bool(action) and not self.asks_model(state) and not _is_harmless(action)

    def is_guarded(self, state: State) -> bool:
        """Whether a state may run only under an admission."""
        return self.asks_model(state) or self.has_effect(state)

    def admits(self, state: State) -> bool:
        """Whether a state admits calls."""
        function = self.function(state)
        return bool(function and function.admits)


def function_arn(state: State) -> str:
    """ARN of the function that a Task invokes, "" for none."""
    if state.resource.removesuffix(".waitForTaskToken") == LAMBDA:
        return str(state.arguments.get("FunctionName", ""))
    return state.resource if _FUNCTION.match(state.resource) else ""


def unqualified(arn: str) -> str:
    """An ARN of a function or machine without its version or alias."""
    parts = arn.split(":")
    qualified = len(parts) > UNQUALIFIED_PARTS and parts[2] in ("lambda", "states")
    return ":".join(parts[:UNQUALIFIED_PARTS]) if qualified else arn


def service_action(state: State) -> str:
    """`dynamodb:putItem` of an integration with a service, "" for functions, children, the rest."""
    prefix, found, action = state.resource.partition(":states:::")
    action = action.removesuffix(".waitForTaskToken").removesuffix(".sync").removesuffix(".sync:2")
    if not found or not prefix or action in INVISIBLE:
        return ""
    return action


def _is_harmless(action: str) -> bool:
    return action.rpartition(":")[2].startswith(HARMLESS)


def _field(shape: Shape | None, name: str) -> Shape:
    fields = shape.fields if shape else None
    return (fields or {}).get(name, ANYTHING)
