"""A definition with anything in any place is refused with a code, or it runs to an end."""

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from local.stepfunctions.clock import VirtualClock
from local.stepfunctions.engine import Engine
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.testing import Functions
from local.stepfunctions.validation import diagnose
from unit.local.stepfunctions.asl import distributed, machine, program, task

_ONE: Final = program(X={"Type": "Pass", "Output": 1})
_RETRIER: Final = {
    "ErrorEquals": ["E"],
    "IntervalSeconds": 1,
    "MaxAttempts": 2,
    "BackoffRate": 2,
    "MaxDelaySeconds": 5,
    "JitterStrategy": "FULL",
}
_CATCHER: Final = {"ErrorEquals": ["States.ALL"], "Assign": {"a": 1}, "Output": 1, "Next": "B"}
_NUMBERS: Final = {
    "MaxConcurrency": 1,
    "ToleratedFailureCount": 1,
    "ToleratedFailurePercentage": 1,
}
_RULE: Final = {"Condition": "{% true %}", "Next": "B", "Assign": {"q": 1}, "Output": 2}
MACHINES: Final = {
    "task": machine(
        A=task(
            TimeoutSeconds=50,
            HeartbeatSeconds=9,
            Retry=[_RETRIER],
            Catch=[_CATCHER],
            Assign={"v": 1},
        ),
        B={"Type": "Succeed", "Output": 1},
    )
    | {"TimeoutSeconds": 100, "Comment": "c"},
    "choice": machine(
        A={"Type": "Choice", "Choices": [_RULE], "Default": "B", "Assign": {"z": 1}},
        B={"Type": "Fail", "Error": "E", "Cause": "c"},
    ),
    "parallel": machine(
        A={"Type": "Parallel", "Arguments": {"a": 1}, "Branches": [_ONE]},
        W={"Type": "Wait", "Seconds": 2},
    ),
    "wait": machine(A={"Type": "Wait", "Timestamp": "2020-01-01T00:00:00Z"}),
    "map": machine(
        A={
            "Type": "Map",
            "Items": [1, 2],
            "ItemSelector": {"a": 1},
            "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, **_ONE},
            **_NUMBERS,
        }
    ),
    "distributed map": machine(
        A=distributed(
            Label="L",
            Items=[1, 2],
            ItemBatcher={
                "MaxItemsPerBatch": 1,
                "MaxInputBytesPerBatch": 1000,
                "BatchInput": {"b": 1},
            },
            ResultWriter={"WriterConfig": {"OutputType": "JSON", "Transformation": "NONE"}},
            ItemProcessor=_ONE,
            **_NUMBERS,
        )
    ),
}
ANYTHING: Final[tuple[JsonValue, ...]] = (
    None, True, -1, 0, 1.5, "x", "{% 'x' %}", [], [1], {}, {"a": 1},
)  # fmt: skip


def changed(value: JsonValue) -> Iterator[JsonValue]:
    """The value with one of its parts replaced by anything, or left out."""
    if not isinstance(value, dict | list):
        return
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        for other in (*ANYTHING, *changed(value[key])):
            again: Any = copy.copy(value)
            again[key] = other
            yield again
        again = copy.copy(value)
        del again[key]
        yield again


@pytest.mark.parametrize("name", MACHINES)
async def test_what_is_accepted_runs_to_an_end(name: str) -> None:
    functions = Functions()
    functions.add("work", lambda event: event)
    engine = Engine(Integrations(functions), clock=VirtualClock(), seed=1)
    accepted = 0
    for number, definition in enumerate(changed(MACHINES[name])):
        text = json.dumps(definition)
        _, wrong = diagnose(text, "STANDARD")
        if any(entry.severity == "ERROR" for entry in wrong):
            continue
        made = engine.create_state_machine(name=f"m{number}", definition=text)
        accepted += 1
        ended = await engine.run_to_end(engine.start_execution(made), days=1)
        assert ended["status"] != "RUNNING", text
    await engine.close()
    assert accepted
