"""What is known of the values that flow through a machine: their fields, and which are references.

Not a type checker: a value whose kind is not known is allowed everything.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel

from architecture.project import (
    Json,
    Project,
    State,
    expressions,
    inner_machines,
    kebab,
    own_fields,
    step_module,
)
from autoops.domain.references import marker_of
from autoops.domain.workflows import WORKFLOWS, Start

PATH: Final = re.compile(r"\$([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)(?![\w(])")
TEXT: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
ROOTS: Final = ("result.Payload", "result.Output", "input", "context.Map.Item.Value")
"""What `$states` holds that differs from state to state."""


@dataclass(frozen=True)
class Kind:
    """What is known of a value.

    Attributes:
        reference: it travels by reference; nothing in a machine looks into it.
        fields: kinds of its fields (for a list, those of its items), None when not known.
    """

    reference: bool = False
    fields: Mapping[str, "Kind"] | None = None


ANYTHING: Final = Kind()
REFERENCE: Final = Kind(reference=True)


@dataclass(frozen=True)
class Use:
    """A path inside an expression, such as `$states.result.Payload.found`."""

    state: State
    expression: str
    path: str
    kind: Kind
    problem: str


@dataclass
class Flow:
    """Kinds of the variables, input and output of one machine."""

    workflow: str
    takes: Kind = ANYTHING
    gives: Kind = ANYTHING
    variables: dict[str, Kind] = field(default_factory=dict)


def uses(project: Project) -> Iterator[Use]:
    """Every path in every expression, with what is known of what it reads."""
    flows = _flows(project)
    for place in _places(project):
        flow = flows[place.state.workflow]
        for expression in expressions(own_fields(place.state.body)):
            for found in PATH.finditer(TEXT.sub(_blank, expression)):
                kind, problem = _looked_up(found, place, flow, flows)
                yield Use(place.state, expression, found[0], kind, problem)


@dataclass(frozen=True)
class _Place:
    """A state and the Map around it, if any."""

    state: State
    around: Json | None


def kind_of_model(model: type[BaseModel], start: type[Start] = Start) -> Kind:
    """The kind of a contract as it stands in a payload."""
    return Kind(
        fields={
            name: _kind_of_field(model, name, info.annotation, start)
            for name, info in model.model_fields.items()
        }
    )


def _kind_of_field(model: type[BaseModel], name: str, hint: Any, start: type[Start]) -> Kind:
    return REFERENCE if marker_of(model, name) else _kind_of_hint(hint, start)


def _kind_of_hint(hint: Any, start: type[Start]) -> Kind:
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return kind_of_model(start if hint is Start else hint, start)
    if get_origin(hint) is Annotated:
        return _kind_of_hint(get_args(hint)[0], start)
    inner = [part for part in get_args(hint) if part not in (type(None), Ellipsis)]
    holds_items = get_origin(hint) in (tuple, list, Union, type(int | None))
    return _kind_of_hint(inner[0], start) if holds_items and len(inner) == 1 else ANYTHING


def _flows(project: Project) -> dict[str, Flow]:
    flows = {workflow: Flow(workflow) for workflow in project.machines}
    # As often as kinds may have to pass from parent to child and back
    for _ in range(4):
        for place in _places(project):
            _learn(place, flows)
    return flows


def _places(project: Project) -> Iterator[_Place]:
    for workflow, definition in project.machines.items():
        yield from _places_in(workflow, definition, (), None)


def _places_in(
    workflow: str, machine: Json, scope: tuple[str, ...], around: Json | None
) -> Iterator[_Place]:
    for name, body in machine["States"].items():
        yield _Place(State(workflow, name, body, scope), around)
        for inner in inner_machines(body):
            yield from _places_in(workflow, inner, (*scope, name), body)


def _learn(place: _Place, flows: dict[str, Flow]) -> None:
    body = place.state.body
    flow = flows[place.state.workflow]
    assigns = [body.get("Assign", {}), *(c.get("Assign", {}) for c in body.get("Catch", []))]
    for name, value in (item for assign in assigns for item in assign.items()):
        known = flow.variables.get(name, ANYTHING)
        flow.variables[name] = _joined(known, _kind_of_value(value, place, flow, flows))
    child = flows.get(_child_of(place.state))
    if child is not None:
        child.takes = _kind_of_value(body["Arguments"]["Input"], place, flow, flows)
    ends = body.get("End") is True or place.state.type == "Succeed"
    if ends and not place.state.scope and "Output" in body:
        flow.gives = _kind_of_value(body["Output"], place, flow, flows)


def _joined(one: Kind, other: Kind) -> Kind:
    if one.reference or other.reference:
        return REFERENCE
    return one if one.fields is not None else other


def _kind_of_value(value: Json, place: _Place, flow: Flow, flows: Mapping[str, Flow]) -> Kind:
    if isinstance(value, dict):
        fields = {name: _kind_of_value(part, place, flow, flows) for name, part in value.items()}
        return Kind(fields=fields)
    whole = next(expressions(value), "") if isinstance(value, str) else ""
    found = PATH.fullmatch(whole)
    return _looked_up(found, place, flow, flows)[0] if found else ANYTHING


def _looked_up(
    found: re.Match[str], place: _Place, flow: Flow, flows: Mapping[str, Flow]
) -> tuple[Kind, str]:
    name, rest = found[1], found[2].removeprefix(".")
    if name != "states":
        if name not in flow.variables:
            return ANYTHING, f"${name} is assigned nowhere"
        return _below(flow.variables[name], rest, f"${name}")
    for root in ROOTS:
        if rest == root or rest.startswith(f"{root}."):
            kind = _kind_of_root(root, place, flow, flows)
            return _below(kind, rest.removeprefix(root).removeprefix("."), f"$states.{root}")
    return ANYTHING, ""


def _kind_of_root(root: str, place: _Place, flow: Flow, flows: Mapping[str, Flow]) -> Kind:
    if root == "result.Payload":
        return _output_of(place.state)
    if root == "result.Output":
        child = flows.get(_child_of(place.state))
        return child.gives if child else ANYTHING
    if root == "context.Map.Item.Value":
        return _kind_of_value(place.state.body.get("Items"), place, flow, flows)
    if place.around is None:
        return flow.takes
    outer = _Place(State(place.state.workflow, "", place.around), None)
    return _kind_of_value(place.around.get("ItemSelector"), outer, flow, flows)


def _output_of(state: State) -> Kind:
    if not state.step:
        return ANYTHING
    workflow = WORKFLOWS.get(state.workflow)
    return kind_of_model(step_module(state.step).Output, workflow.start if workflow else Start)


def _child_of(state: State) -> str:
    return kebab(state.placeholder.removesuffix("WorkflowArn"))


def _below(kind: Kind, path: str, read: str) -> tuple[Kind, str]:
    for name in path.split(".") if path else []:
        if kind.reference:
            return ANYTHING, f"looks below {read}, which travels by reference"
        if kind.fields is None:
            return ANYTHING, ""
        if name not in kind.fields:
            return ANYTHING, f"reads {name} of {read}, which has no such field"
        kind, read = kind.fields[name], f"{read}.{name}"
    return kind, ""


def _blank(text: re.Match[str]) -> str:
    return " " * len(text[0])
