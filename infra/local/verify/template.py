"""The world of a template: its machines as SAM deploys them, and the functions they run."""

import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from autoops.domain.money import dollars
from autoops.domain.prompts import read_prompt
from autoops.domain.workflows import WORKFLOWS
from autoops.lambda_runtime import StepHandler
from local.template import model
from local.template.resource import Resource
from local.template.stack import Stack
from local.template.template import Template
from local.verify.machine import Machine, read_machine
from local.verify.permissions import allowed, policies_in
from local.verify.settings import Settings
from local.verify.shapes import Shape, shape_of
from local.verify.sizes import most_bytes
from local.verify.world import Function, World, unqualified

Json = Any
STATUSES: Final = frozenset({"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"})
FUNCTIONS: Final = ("AWS::Serverless::Function", "AWS::Lambda::Function")
_STEP: Final = re.compile(r"steps\.(\w+)\.handler\.(\w+)")


def read_world(
    path: Path, settings: Settings, parameters: Mapping[str, object] | None = None
) -> World:
    """Everything that a template deploys and verification looks at.

    Raises:
        TemplateError: the template is not as it should be.
        NotAMachineError: a definition is not.
    """
    template = Template.load(path, parameters)
    stack = Stack(path, parameters or {}, "autoops")
    machines = [_machine(one, path.parent) for one in template.machines.values()]
    return World(
        machines={machine.arn: machine for machine in machines},
        functions={
            template.functions[resource.logical_id].arn: _function(
                resource, template.functions[resource.logical_id], stack, settings
            )
            for resource in _functions(stack)
        },
        closed=frozenset(_closed(template, settings)),
        starts={m.arn: shape_of(WORKFLOWS[m.name].start) for m in machines if m.name in WORKFLOWS},
        ceilings={
            m.arn: dollars(WORKFLOWS[m.name].budget, "budget")
            for m in machines
            if m.name in WORKFLOWS
        },
    )


def _machine(found: model.StateMachine, root: Path) -> Machine:
    source = found.source
    file = "" if source is None else str(source.resolve().relative_to(root.resolve()))
    name = found.logical_id if source is None else source.name.removesuffix(".asl.json")
    express = found.type == "EXPRESS"
    return read_machine(name, found.definition, arn=found.arn, file=file, express=express)


def _functions(stack: Stack) -> Iterator[Resource]:
    for inner in stack.nested():
        yield from _functions(inner)
    for logical_id, body in stack.resources():
        if body["Type"] in FUNCTIONS:
            yield Resource(stack, logical_id, body)


def _function(
    resource: Resource, found: model.Function, stack: Stack, settings: Settings
) -> Function:
    may = allowed(resource, policies_in(stack))
    handler = _handler(found)
    takes, gives = (
        (shape_of(handler.accepts), shape_of(handler.returns)) if handler else (None, Shape())
    )
    undo = getattr(handler, "compensated_by", None) or ""
    step = _STEP.fullmatch(found.handler)
    return Function(
        name=found.logical_id,
        step=step[1] if step and handler else "",
        asks_model=may.models,
        models=tuple(sorted(may.named | (_asked(found) if may.any_model else set()))),
        per_item=settings.per_item.get(found.handler, ""),
        most_output=_most_output(found.code) if may.any_model else None,
        tiers=tuple(
            sorted({"default", *(read_prompt(file).tier for file in _prompts(found.code))})
        ),
        admits=found.handler in settings.admit,
        has_effect=bool(may.effects or undo),
        compensated_by=undo if isinstance(undo, str) else str(getattr(undo, "__name__", undo)),
        intends=bool(getattr(handler, "intends", False)),
        once=bool(handler and handler.idempotent),
        timeout=found.timeout,
        lease=int(found.environment.get("LEASE", "0")),
        takes=takes,
        gives=gives,
        most_bytes=most_bytes(handler.returns) if handler else None,
    )


def _handler(found: model.Function) -> StepHandler | None:
    """The wiring of a step of ours; code of others is never imported."""
    step = _STEP.fullmatch(found.handler)
    file = found.code / "steps" / (step[1] if step else "") / "handler.py"
    if step is None or not file.is_file():
        return None
    module = importlib.import_module(f"steps.{step[1]}.handler")
    if Path(str(module.__file__)).resolve() != file.resolve():
        return None
    handler = getattr(module, step[2], None)
    return handler if isinstance(handler, StepHandler) else None


def _asked(found: model.Function) -> set[str]:
    """Models that requests name: the application's own, and those that prompts choose."""
    own = {found.environment["CHAT_MODEL"]} if "CHAT_MODEL" in found.environment else set()
    chosen = {read_prompt(file).model for file in _prompts(found.code)}
    return own | {name for name in chosen if name}


def _most_output(code: Path) -> int | None:
    return max((read_prompt(file).max_tokens for file in _prompts(code)), default=None)


def _prompts(code: Path) -> list[Path]:
    return sorted((code / "steps").glob("*/prompt.md"))


def _closed(template: Template, settings: Settings) -> Iterator[str]:
    """ARNs of the machines of whose every end the closing function hears."""
    closing = {f.arn for f in template.functions.values() if f.handler == settings.close}
    for rule in template.rules.values():
        pattern: Json = rule.pattern or {}
        detail = pattern.get("detail") or {}
        hears = set(detail.get("status", STATUSES)) >= STATUSES
        if hears and any(unqualified(target.arn) in closing for target in rule.targets):
            yield from detail.get("stateMachineArn", ())
