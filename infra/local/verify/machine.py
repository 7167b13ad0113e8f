"""A state machine as verification sees it: programs of states, and every way between them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Json = Any
EXIT: Final = "(end)"
"""Where the ways out of a program lead."""
NO_CHOICE: Final = "States.NoChoiceMatched"
LAMBDA: Final = "arn:aws:states:::lambda:invoke"
CALLBACK: Final = ".waitForTaskToken"
SYNC: Final = (".sync", ".sync:2")
NESTED: Final = "arn:aws:states:::states:startExecution"

Way = Literal["next", "rule", "default", "catch"]


class NotAMachineError(Exception):
    """The text is no state machine that can be read; the message is one sentence."""


@dataclass(frozen=True)
class Edge:
    """One way from a state to the next, or out.

    Attributes:
        source: the state it leaves.
        target: the state it enters, EXIT for the way out.
        way: how it is taken: by success, by a Choice's rule or default, by a Catch.
        assign: what it assigns.
        number: which rule or Catch it is.
        rules: conditions of a Choice up to this edge's own; all but the last do not hold on it.
        errors: ErrorEquals of a Catch.
    """

    source: str
    target: str
    way: Way
    assign: Mapping[str, Json] = field(default_factory=dict, hash=False)
    number: int = 0
    rules: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class State:
    """A state with its place.

    Attributes:
        name: its name.
        body: its definition.
        place: names of the Map and Parallel states around it, outermost first.
        edges: the ways out of it.
        inner: the programs inside it.
    """

    name: str
    body: Mapping[str, Json] = field(repr=False)
    place: tuple[str, ...]
    edges: tuple[Edge, ...] = field(repr=False)
    inner: tuple["Program", ...] = field(repr=False)

    @property
    def type(self) -> str:
        """Task, Choice, Map and so on."""
        return str(self.body["Type"])

    @property
    def path(self) -> tuple[str, ...]:
        """The names around it and its own."""
        return (*self.place, self.name)

    @property
    def resource(self) -> str:
        """What a Task runs, "" for other states."""
        return str(self.body.get("Resource", "")) if self.type == "Task" else ""

    @property
    def is_callback(self) -> bool:
        """Whether it waits for somebody to answer its token."""
        return self.resource.endswith(CALLBACK) or ":activity:" in self.resource

    @property
    def is_sync(self) -> bool:
        """Whether it waits for the end of something that another service runs."""
        return self.resource.endswith(SYNC)

    @property
    def arguments(self) -> Mapping[str, Json]:
        """Arguments of a Task, of either query language."""
        found = self.body.get("Arguments", self.body.get("Parameters"))
        return found if isinstance(found, Mapping) else {}

    @property
    def input(self) -> Mapping[str, Json]:
        """What a Task hands to its step: `Payload.input`."""
        payload = self.arguments.get("Payload")
        found = payload.get("input") if isinstance(payload, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    @property
    def distributed(self) -> bool:
        """Whether it is a Map whose items run as executions of their own."""
        return self.type == "Map" and self.processor_config.get("Mode") == "DISTRIBUTED"

    @property
    def processor_config(self) -> Mapping[str, Json]:
        """ProcessorConfig of a Map."""
        processor = self.body.get("ItemProcessor", self.body.get("Iterator", {}))
        return processor.get("ProcessorConfig") or {}


@dataclass(frozen=True, eq=False)
class Program:
    """States with a first one: a machine, a branch of a Parallel, or what a Map does to an item."""

    place: tuple[str, ...]
    start: str
    states: Mapping[str, State] = field(repr=False)

    def edges(self) -> Iterator[Edge]:
        """Every way between its states and out of them."""
        for state in self.states.values():
            yield from state.edges

    def everywhere(self) -> Iterator["Program"]:
        """This program and all inside it."""
        yield self
        for state in self.states.values():
            for inner in state.inner:
                yield from inner.everywhere()


@dataclass(frozen=True, eq=False)
class Machine:
    """A definition, read.

    Attributes:
        name: what the report calls it.
        arn: its ARN, or its name where it has none.
        file: where the definition stands, "" when it stands in no file of its own.
        language: its query language.
        timeout: TimeoutSeconds, None where it has none.
        express: whether it is an Express machine.
        text: the definition.
    """

    name: str
    program: Program = field(repr=False)
    arn: str = ""
    file: str = ""
    language: str = "JSONPath"
    timeout: int | None = None
    express: bool = False
    text: str = field(default="", repr=False)

    def states(self) -> Iterator[State]:
        """Every state, those inside Map and Parallel among them."""
        for program in self.program.everywhere():
            yield from program.states.values()


def read_machine(
    name: str, text: str, *, arn: str = "", file: str = "", express: bool = False
) -> Machine:
    """Read a definition.

    Raises:
        NotAMachineError: it is no JSON object with states that lead to one another.
    """
    try:
        definition = json.loads(text)
    except ValueError as problem:
        raise NotAMachineError(f"{name}: is not JSON: {problem}") from None
    program = _program(name, definition, ())
    timeout = definition.get("TimeoutSeconds")
    return Machine(
        name=name,
        program=program,
        arn=arn or name,
        file=file,
        language=str(definition.get("QueryLanguage", "JSONPath")),
        timeout=timeout if isinstance(timeout, int) else None,
        express=express,
        text=text,
    )


def _program(name: str, definition: Json, place: tuple[str, ...]) -> Program:
    where = "/".join([name, *place])
    states = definition.get("States") if isinstance(definition, dict) else None
    if not isinstance(states, dict) or not states:
        raise NotAMachineError(f"{where}: has no States")
    read = {key: _state(name, key, body, place) for key, body in states.items()}
    start = definition.get("StartAt")
    if start not in read:
        raise NotAMachineError(f"{where}: StartAt names {start}, which is no state")
    program = Program(place, str(start), read)
    for edge in program.edges():
        if edge.target != EXIT and edge.target not in read:
            sentence = f"{where}/{edge.source}: leads to {edge.target}, which is no state"
            raise NotAMachineError(sentence)
    return program


def _state(machine: str, name: str, body: Json, place: tuple[str, ...]) -> State:
    if not isinstance(body, dict) or not isinstance(body.get("Type"), str):
        raise NotAMachineError(f"{'/'.join([machine, *place, name])}: has no Type")
    inside = [*body.get("Branches", ())]
    inside += [body[key] for key in ("ItemProcessor", "Iterator") if key in body]
    return State(
        name=name,
        body=body,
        place=place,
        edges=tuple(_edges(name, body)),
        inner=tuple(_program(machine, one, (*place, name)) for one in inside),
    )


def _edges(name: str, body: Mapping[str, Json]) -> Iterator[Edge]:
    own = _assigned(body)
    if body["Type"] == "Choice":
        yield from _choices(name, body, own)
    elif "Next" in body:
        yield Edge(name, str(body["Next"]), "next", own)
    elif body["Type"] != "Fail":
        yield Edge(name, EXIT, "next", own)
    for number, caught in enumerate(body.get("Catch") or ()):
        errors = tuple(map(str, caught.get("ErrorEquals", ())))
        yield Edge(name, str(caught.get("Next")), "catch", _assigned(caught), number, errors=errors)


def _choices(name: str, body: Mapping[str, Json], own: Mapping[str, Json]) -> Iterator[Edge]:
    rules: tuple[str, ...] = ()
    for number, rule in enumerate(body.get("Choices") or ()):
        rules = (*rules, str(rule.get("Condition", "")))
        yield Edge(name, str(rule.get("Next")), "rule", _assigned(rule), number, rules)
    if "Default" in body:
        yield Edge(name, str(body["Default"]), "default", own, len(rules), rules)


def _assigned(body: Mapping[str, Json]) -> Mapping[str, Json]:
    found = body.get("Assign")
    return found if isinstance(found, Mapping) else {}
