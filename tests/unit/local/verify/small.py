"""Parts of small machines, and the places in which they can stand."""

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from autoops.domain.contracts import Contract, Run
from autoops.domain.references import Private
from local.verify.findings import Finding
from local.verify.machine import read_machine
from local.verify.policies import BOUNDED, IN_PROGRESS, POLICIES, THROTTLED, TIMEOUT, TRANSIENT
from local.verify.settings import Settings
from local.verify.shapes import shape_of
from local.verify.verdict import verify
from local.verify.world import Function, World

Json = Any
ARN: Final = "arn:aws:lambda:us-east-1:123456789012:function:"
MACHINE: Final = "arn:aws:states:us-east-1:123456789012:stateMachine:"
LAMBDA: Final = "arn:aws:states:::lambda:invoke"
PAYLOAD: Final = {
    "run": "{% $run %}",
    "step": "{% $states.context.State.Name %}",
    "attempt": "{% $states.context.State.RetryCount %}",
    "map_index": 0,
}
CALL: Final = "{% $call & '/Ask/' & $n %}"


class Start(Contract):
    run: Run
    call: str


class Admitted(Contract):
    call: str
    token: str


class Asked(Contract):
    call: str
    words: Private[str] = ""


class Answer(Contract):
    text: Private[str]
    good: bool


class Charged(Contract):
    call: str
    amount: int


class Note(Contract):
    note: str = ""


FUNCTIONS: Final = {
    "Admit": Function("AdmitFunction", "admit", admits=True, takes=shape_of(Admitted)),
    "Ask": Function(
        "AskFunction",
        "ask",
        asks_model=True,
        models=("amazon.nova-lite-v1:0",),
        most_output=500,
        timeout=30,
        takes=shape_of(Asked),
        gives=shape_of(Answer),
    ),
    "Charge": Function(
        "ChargeFunction",
        "charge",
        has_effect=True,
        compensated_by="refund",
        intends=True,
        once=True,
        timeout=30,
        takes=shape_of(Charged),
        gives=shape_of(Note),
    ),
    "Refund": Function("RefundFunction", "refund", takes=shape_of(Note)),
    "Look": Function("LookFunction", "look", takes=shape_of(Note), gives=shape_of(Answer)),
}


def retry(*more: tuple[str, ...], throttled: tuple[str, ...] = THROTTLED) -> list[Json]:
    """All policies, each with its figures."""
    progress = {"MaxAttempts": 6} if IN_PROGRESS in more else {}
    named = (TRANSIENT, throttled, BOUNDED, *more)
    return [
        {"ErrorEquals": [*names], **POLICIES[names], **(progress if names == IN_PROGRESS else {})}
        for names in named
    ]


def task(function: str, given: Mapping[str, Json], **more: Json) -> Json:
    """A step that may be tried again after a timeout."""
    return {
        "Type": "Task",
        "Resource": LAMBDA,
        "Arguments": {
            "FunctionName": f"{ARN}{function}:1",
            "Payload": {**PAYLOAD, "input": dict(given)},
        },
        "TimeoutSeconds": 60,
        "Retry": [
            {"ErrorEquals": [*names], **POLICIES[names]}
            for names in (TRANSIENT, THROTTLED, (*BOUNDED, TIMEOUT))
        ],
        **more,
    }


def admit(call: str = CALL, **more: Json) -> Json:
    """Admits a call."""
    given = {"call": call, "token": "{% $states.context.Task.Token %}"}
    found = task("Admit", given, **{"Retry": retry(throttled=THROTTLED[1:]), **more})
    return {**found, "Resource": f"{LAMBDA}.waitForTaskToken"}


def ask(call: str = CALL, **more: Json) -> Json:
    """Asks the model."""
    found = task("Ask", {"call": call}, **more)
    found["Retry"] = [*found["Retry"], retry(IN_PROGRESS)[-1]]
    return found


def charge(call: str = CALL, **more: Json) -> Json:
    """Has an effect."""
    return task("Charge", {"call": call, "amount": 5}, Retry=retry(IN_PROGRESS), **more)


def look(**more: Json) -> Json:
    """Neither asks nor changes anything."""
    return task("Look", {}, **more)


def choice(*rules: tuple[str, str], **more: Json) -> Json:
    """Conditions and where they lead."""
    found = [{"Condition": f"{{% {text} %}}", "Next": name} for text, name in rules]
    return {"Type": "Choice", "Choices": found, **more}


def count(to: str, name: str = "n") -> Json:
    """Counts a counter up."""
    return {"Type": "Pass", "Assign": {name: f"{{% ${name} + 1 %}}"}, "Next": to}


def begin(to: str) -> Json:
    """The first state of every program: takes run and call from the input, counts from 0."""
    assign = {"run": "{% $states.input.run %}", "call": "{% $states.input.call %}", "n": 0}
    return {"Type": "Pass", "Assign": assign, "Next": to}


DONE: Final[Json] = {"Type": "Succeed", "Output": "{% [$run.id, $call, $n] %}"}
Definition = dict[str, Json]
"""A definition's StartAt and States."""


def program(**states: Json) -> Definition:
    """Begin, then the first of these states; underscores stand for spaces, Q for a question."""
    named = {name.replace("_Q", "?").replace("_", " "): one for name, one in states.items()}
    return {"StartAt": "Begin", "States": {"Begin": begin(next(iter(named))), **named}}


@dataclass(frozen=True)
class Nest:
    """Where a program stands.

    Attributes:
        name: of the place.
        around: makes the machine around a program, None where it is a child's.
        prefix: the names on the way to it.
    """

    name: str
    around: Callable[[Definition], Definition]
    prefix: tuple[str, ...] = ()
    machine: str = "root"


def _in_parallel(inner: Definition) -> Definition:
    idle = {"StartAt": "Idle", "States": {"Idle": {"Type": "Pass", "End": True}}}
    both = {"Type": "Parallel", "Branches": [idle, inner], "End": True}
    return {"StartAt": "Both", "States": {"Both": both}}


def _in_map(mode: str) -> Callable[[Definition], Definition]:
    def around(inner: Definition) -> Definition:
        config: Json = {"Mode": mode}
        if mode == "DISTRIBUTED":
            config["ExecutionType"] = "STANDARD"
        each = {
            "Type": "Map",
            "Items": ["a", "b", "c"],
            "ItemSelector": {
                "run": "{% $states.input.run %}",
                "call": "{% $states.input.call & '/' & $states.context.Map.Item.Index %}",
            },
            "ItemProcessor": {"ProcessorConfig": config, **inner},
            "End": True,
        }
        return {"StartAt": "Each", "States": {"Each": each}}

    return around


def _behind_catch(inner: Definition) -> Definition:
    payload = {**PAYLOAD, "run": "{% $states.input.run %}"}
    attempt = look(
        Next="Fine",
        Catch=[
            {
                "ErrorEquals": ["States.TaskFailed"],
                "Output": "{% $states.input %}",
                "Next": inner["StartAt"],
            }
        ],
    )
    attempt["Arguments"]["Payload"] = {**payload, "input": {}}
    fine = {"Type": "Pass", "Output": {"good": True}, "End": True}
    return {"StartAt": "Try", "States": {"Try": attempt, "Fine": fine, **inner["States"]}}


def _in_child(inner: Definition) -> Definition:
    start = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Arguments": {
            "StateMachineArn": f"{MACHINE}child:1",
            "Input": {"run": "{% $states.input.run %}", "call": "{% $states.input.call %}"},
        },
        "TimeoutSeconds": 9_000,
        "End": True,
    }
    return {"StartAt": "Child", "States": {"Child": start}, "child": inner}


NESTS: Final = (
    Nest("alone", lambda inner: inner),
    Nest("in a Parallel", _in_parallel, ("Both",)),
    Nest("in a Map", _in_map("INLINE"), ("Each",)),
    Nest("in a Distributed Map", _in_map("DISTRIBUTED"), ("Each",)),
    Nest("behind a Catch", _behind_catch, ("Try",)),
    Nest("in a child", _in_child, (), "child"),
)


def verdict(found: Definition, nest: Nest, settings: Settings | None = None) -> list[Finding]:
    """What verification refuses in a program at its place."""
    return verify(world_of(nest.around(copy.deepcopy(found))), settings or LIMITS).findings


def world_of(definition: Definition) -> World:
    """The world of a machine named root, and of the one named child where there is one."""
    child = definition.pop("child", None)
    machines = {"root": definition} | ({} if child is None else {"child": child})
    read = [
        read_machine(
            name,
            json.dumps({"QueryLanguage": "JSONata", "TimeoutSeconds": 10_000, **one}),
            arn=MACHINE + name,
        )
        for name, one in machines.items()
    ]
    return World(
        machines={machine.arn: machine for machine in read},
        functions={ARN + name: function for name, function in FUNCTIONS.items()},
        closed=frozenset({f"{MACHINE}root"}),
        starts={f"{MACHINE}root": shape_of(Start)},
    )


LIMITS: Final = Settings(limits={"root": {"call_requests": 1_000_000, "call_seconds": 10_000_000}})
