"""What a state hands to a step is what the step takes, and what it reads of the answer is there."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from autoops.lambda_runtime import Envelope
from local.verify.expressions import constant
from local.verify.findings import Finding, Rule
from local.verify.flows import Flows
from local.verify.machine import Machine, State
from local.verify.reads import reads_of
from local.verify.shapes import Shape, shape_of
from local.verify.ways import way_to
from local.verify.world import World

Json = Any
ENVELOPE: Final = shape_of(Envelope)
STEP: Final = "{% $states.context.State.Name %}"
ATTEMPT: Final = "{% $states.context.State.RetryCount %}"


def contracts(world: World, machine: Machine, flows: Flows) -> Iterator[Finding]:
    """Payloads that do not fit, fields that are not there, and looks below references."""
    if machine.language != "JSONata":
        return
    for state in machine.states():
        for rule, sentence in _problems(world, machine, state, flows):
            yield Finding(machine.name, rule, way_to(machine, state), sentence)


def _problems(
    world: World, machine: Machine, state: State, flows: Flows
) -> Iterator[tuple[Rule, str]]:
    function = world.function(state)
    if function is not None and function.takes is not None:
        for sentence in _payload(state):
            yield "contracts", sentence
        given = flows.shape(machine, state, state.input)
        for sentence in _misfits("the input", state.input, given, function.takes):
            yield "contracts", sentence
    for read in reads_of(state):
        shape, problem = flows.read(machine, state, read)
        if problem:
            yield ("data" if problem.startswith("looks below") else "contracts"), problem
        elif shape.shut and not read.is_all and f"$exists({read.path})" not in read.expression:
            yield "data", f"computes with {read.path}, which travels by reference"
    if state.resource.endswith("startExecution.sync") and any(
        read.fields[:2] == ("result", "Output") and len(read.fields) > 2 for read in reads_of(state)
    ):
        yield "contracts", "reads below Output, which .sync gives as text: use .sync:2"


def _payload(state: State) -> Iterator[str]:
    payload = state.arguments.get("Payload")
    if not isinstance(payload, Mapping):
        yield "hands its step no payload that can be read"
        return
    names = ENVELOPE.fields or {}
    yield from (f"the payload has {n}, which no step takes" for n in sorted({*payload} - {*names}))
    yield from (f"the payload lacks {name}" for name in sorted(ENVELOPE.required - {*payload}))
    for name, value in (("step", STEP), ("attempt", ATTEMPT)):
        if name in payload and payload[name] != value:
            yield f"the payload's {name} has to be {value}"
    if state.place and "map_index" not in payload:
        yield "stands in a Map or Parallel, so its payload has to tell map_index"


def _misfits(what: str, given: Json, known: Shape, takes: Shape) -> Iterator[str]:
    fields = takes.fields
    if fields is None or not isinstance(given, Mapping):
        return
    yield from (f"{what} has {name}, which nothing takes" for name in sorted({*given} - {*fields}))
    yield from (f"{what} lacks {name}" for name in sorted(takes.required - {*given}))
    for name in sorted({*given} & {*fields}):
        wanted, got = fields[name], (known.fields or {}).get(name, Shape())
        number = constant(given[name])
        if got.shut and not wanted.shut:
            yield f"{what}'s {name} is a reference, and the step takes the value"
        if number is not None and wanted.most is not None and number > wanted.most:
            yield f"{what}'s {name} is {number}, and the step takes at most {wanted.most}"
        yield from _lacking(f"{what}'s {name}", got, wanted)


def _lacking(what: str, got: Shape, wanted: Shape) -> Iterator[str]:
    """Fields that the step requires and the value does not have."""
    if got.fields is not None and wanted.fields is not None and not wanted.shut:
        yield from (f"{what} lacks {name}" for name in sorted(wanted.required - {*got.fields}))
