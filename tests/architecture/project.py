"""What the architecture tests look at: the template, the machines, the steps, as plain data."""

import copy
import importlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
import yaml

Json = Any
ROOT: Final = Path(__file__).parents[2]
PLACEHOLDER: Final = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class State:
    """A state with its place.

    Attributes:
        workflow: the machine it stands in.
        name: its name.
        body: its definition.
        scope: names of the Map and Parallel states around it, outermost first.
    """

    workflow: str
    name: str
    body: Json
    scope: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.workflow}: {'/'.join([*self.scope, self.name])}"

    @property
    def type(self) -> str:
        return str(self.body.get("Type"))

    @property
    def placeholder(self) -> str:
        """Name inside `${...}` of the function or machine that a Task runs, "" for none."""
        arguments = self.body.get("Arguments")
        if self.type != "Task" or not isinstance(arguments, dict):
            return ""
        target = arguments.get("FunctionName") or arguments.get("StateMachineArn") or ""
        found = PLACEHOLDER.fullmatch(target)
        return found[1] if found else ""

    @property
    def step(self) -> str:
        """Folder of the step that a Task runs, "" for none."""
        name = self.placeholder
        return snake(name.removesuffix("FunctionArn")) if name.endswith("FunctionArn") else ""


@dataclass(frozen=True, repr=False)
class Project:
    """The project's declarative half; tests alter a copy to prove that a rule can fail.

    Attributes:
        template: template.yaml, short intrinsic forms written out.
        stacks: nested stacks by logical id.
        machines: definitions by workflow.
        root: folder of the files.
    """

    template: Json
    stacks: Mapping[str, Json]
    machines: Mapping[str, Json]
    root: Path = ROOT

    @classmethod
    def read(cls, root: Path = ROOT) -> "Project":
        template = read_yaml(root / "template.yaml")
        nested = {
            name: read_yaml(root / resource["Properties"]["Location"])
            for name, resource in template["Resources"].items()
            if resource["Type"] == "AWS::Serverless::Application"
        }
        machines = {
            path.name.removesuffix(".asl.json"): json.loads(path.read_text())
            for path in sorted((root / "statemachines").glob("*.asl.json"))
        }
        return cls(template, nested, machines, root)

    def with_machine(self, workflow: str, change: Callable[[Json], object]) -> "Project":
        """A copy in which the machine's definition is changed in place."""
        machines = copy.deepcopy(dict(self.machines))
        change(machines[workflow])
        return replace(self, machines=machines)

    def with_template(self, change: Callable[[Json], object]) -> "Project":
        """A copy in which the template is changed in place."""
        template = copy.deepcopy(self.template)
        change(template)
        return replace(self, template=template)

    @property
    def functions(self) -> dict[str, Json]:
        """Properties of each function by logical id, with what Globals give it."""
        shared = self.template["Globals"]["Function"]
        return {
            name: {**shared, **own, "Layers": [*shared.get("Layers", []), *own.get("Layers", [])]}
            for name, own in self.resources("AWS::Serverless::Function").items()
        }

    @property
    def workflows(self) -> dict[str, Json]:
        """Properties of each state machine by logical id."""
        return self.resources("AWS::Serverless::StateMachine")

    def resources(self, kind: str) -> dict[str, Json]:
        return {
            name: resource.get("Properties", {})
            for name, resource in self.template["Resources"].items()
            if resource["Type"] == kind
        }

    def states(self) -> Iterator[State]:
        """Every state of every machine, also those inside Map and Parallel."""
        for workflow, definition in self.machines.items():
            yield from _states_of(workflow, definition, ())

    def tasks(self) -> Iterator[State]:
        return (state for state in self.states() if state.type == "Task")

    def steps(self) -> list[str]:
        return _packages(self.root / "functions" / "steps")

    def triggers(self) -> list[str]:
        return _packages(self.root / "functions" / "triggers")


def inner_machines(body: Json) -> list[Json]:
    """The machines inside a Map or Parallel state."""
    processors = [body["ItemProcessor"]] if "ItemProcessor" in body else []
    return processors + list(body.get("Branches", []))


def scopes(workflow: str, definition: Json, at: str = "") -> Iterator[tuple[str, Json]]:
    """Each machine with states of its own: the whole one, and each inside a Map or Parallel."""
    place = at or workflow
    yield place, definition
    for name, body in definition.get("States", {}).items():
        for inner in inner_machines(body):
            yield from scopes(workflow, inner, f"{place}/{name}")


def expressions(value: Json) -> Iterator[str]:
    """Every JSONata expression inside a value, without its `{% %}`."""
    if isinstance(value, str) and value.startswith("{%") and value.endswith("%}"):
        yield value[2:-2].strip()
    elif isinstance(value, dict):
        for item in value.values():
            yield from expressions(item)
    elif isinstance(value, list):
        for item in value:
            yield from expressions(item)


def own_fields(body: Json) -> Json:
    """A state's fields without the states inside it."""
    return {name: value for name, value in body.items() if name not in INNER}


INNER: Final = frozenset({"ItemProcessor", "Branches"})


def targets(body: Json) -> Iterator[str]:
    """Names of the states that a state leads to."""
    for name in ("Next", "Default"):
        if name in body:
            yield body[name]
    for branch in [*body.get("Choices", []), *body.get("Catch", [])]:
        yield branch["Next"]


def step_module(step: str, part: str = "step", kind: str = "steps") -> ModuleType:
    return importlib.import_module(f"{kind}.{step}.{part}")


def pascal(name: str) -> str:
    """`call_model` and `call-model` as `CallModel`."""
    return "".join(part.capitalize() for part in re.split("[-_]", name))


def snake(name: str) -> str:
    """`CallModel` as `call_model`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def kebab(name: str) -> str:
    """`AskModel` as `ask-model`."""
    return snake(name).replace("_", "-")


def strings(value: Json) -> Iterator[str]:
    """Every text inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def hold(problems: Iterable[str]) -> None:
    """Fail with every sentence, one a line, and nothing else."""
    found = list(problems)
    if found:
        pytest.fail("\n" + "\n".join(found), pytrace=False)


def read_yaml(path: Path) -> Json:
    return yaml.load(path.read_text(), _Loader)  # noqa: S506  # a SafeLoader with AWS's tags


class _Loader(yaml.SafeLoader):
    """SafeLoader that writes `!Ref x` out as `{"Ref": "x"}` and `!Sub x` as `{"Fn::Sub": "x"}`."""


def _intrinsic(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> Json:
    if isinstance(node, yaml.ScalarNode):
        value: Json = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        raise TypeError(f"!{tag} on a mapping")
    if tag in {"Ref", "Condition"}:
        return {tag: value}
    if tag == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {f"Fn::{tag}": value}


_Loader.add_multi_constructor("!", _intrinsic)


def _states_of(workflow: str, definition: Json, scope: tuple[str, ...]) -> Iterator[State]:
    for name, body in definition["States"].items():
        yield State(workflow, name, body, scope)
        for inner in inner_machines(body):
            yield from _states_of(workflow, inner, (*scope, name))


def _packages(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/__init__.py"))
