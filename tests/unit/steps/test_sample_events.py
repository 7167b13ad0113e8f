"""The sample events of a step are what the state machines send it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoops.domain.contracts import Json
from fakes import EVENTS

ROOT = Path(__file__).parents[3]
STEPS = sorted(path.parent.name for path in (ROOT / "functions/steps").glob("*/step.py"))


def states(machine: Json) -> Iterator[tuple[str, Json]]:
    for name, state in machine["States"].items():
        yield name, state
        if "ItemProcessor" in state:
            yield from states(state["ItemProcessor"])


def sent(step: str) -> list[tuple[str, Json]]:
    """State name and payload of every Task that runs the step."""
    function = "${" + "".join(map(str.capitalize, step.split("_"))) + "FunctionArn}"
    machines = [json.loads(path.read_text()) for path in (ROOT / "statemachines").glob("*.json")]
    return [
        (name, state["Arguments"]["Payload"])
        for machine in machines
        for name, state in states(machine)
        if state.get("Arguments", {}).get("FunctionName") == function
    ]


def samples(step: str) -> list[Json]:
    return [json.loads(path.read_text()) for path in sorted((EVENTS / step).glob("*.json"))]


@pytest.mark.parametrize("step", STEPS)
def test_every_sample_has_the_fields_that_some_state_sends(step: str) -> None:
    forms = [(name, payload.keys(), payload["input"].keys()) for name, payload in sent(step)]
    for sample in samples(step):
        assert (sample["step"], sample.keys(), sample["input"].keys()) in forms


@pytest.mark.parametrize("step", STEPS)
def test_every_form_that_a_state_sends_has_a_sample(step: str) -> None:
    shown = [sample["input"].keys() for sample in samples(step)]
    for name, payload in sent(step):
        assert payload["input"].keys() in shown, name
