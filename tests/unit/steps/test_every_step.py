"""What holds for every step, through its real handler and its sample events."""

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from autoops.domain.contracts import Contract, Json, Run, to_json
from autoops.errors import GiveUp, InvalidInput, StepFaulted
from autoops.lambda_runtime import PAYLOAD_BYTES, StepHandler
from fakes import EVENTS, FakeContext, sample_event, tool
from unit.logs import Logs
from unit.steps.bench import Bench

STEPS = sorted(
    path.parent.name
    for path in (Path(__file__).parents[3] / "functions/steps").glob("*/handler.py")
)
CASES = [(step, path.stem) for step in STEPS for path in sorted((EVENTS / step).glob("*.json"))]
PAID = ("call_model", "embed_chunks", "retrieve_context")
UNRECORDED = ("admit",)
"""The admission itself is the record of what it did."""

ANSWER: Json = {"answered": True, "text": "A yak-canary is an ox.", "citations": []}


def ready(bench: Bench, step: str, case: str) -> Bench:
    """Everything that the sample event needs to succeed."""
    bench.documents.add("default", "guides/yaks.md", "A yak-canary is an ox.")
    bench.model.script = [tool(ANSWER), tool(ANSWER)]
    if step in PAID:
        bench.admit(step, case)
    elif step != "open_run":
        bench.open(step, case)
    return bench


@pytest.mark.parametrize(("step", "case"), CASES)
def test_no_private_word_reaches_payload_log_or_record(
    bench: Bench, step: str, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = Logs(capsys)
    event = sample_event(step, case)
    payload = ready(bench, step, case).handle(step, event)
    run = event["run"]["root"]
    assert "canary" not in to_json([payload, bench.ledger.view(run)])
    assert "canary" not in logs.all()


@pytest.mark.parametrize(("step", "case"), CASES)
def test_a_second_delivery_returns_the_same_and_moves_no_money(
    bench: Bench, step: str, case: str
) -> None:
    ready(bench, step, case)
    first = bench.run(step, case)
    root = sample_event(step, case)["run"]["root"]
    money = bench.view(root).budget
    assert bench.run(step, case) == first
    assert bench.view(root).budget == money


@pytest.mark.parametrize(("step", "case"), CASES)
def test_what_a_step_returns_is_json_that_step_functions_carries(
    bench: Bench, step: str, case: str
) -> None:
    payload = ready(bench, step, case).run(step, case)
    assert json.loads(json.dumps(payload, allow_nan=False)) == payload
    assert len(to_json(payload).encode()) < PAYLOAD_BYTES


@pytest.mark.parametrize("step", STEPS)
def test_a_field_too_many_is_bad_input(bench: Bench, step: str) -> None:
    with pytest.raises(InvalidInput, match="surplus: ") as raised:
        ready(bench, step, "ok").run(step, surplus="canary")
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("step", STEPS)
def test_a_field_too_few_is_bad_input(bench: Bench, step: str) -> None:
    event = sample_event(step)
    event["input"] = {}
    with pytest.raises(InvalidInput, match=r"Field required|either request or texts"):
        ready(bench, step, "ok").handle(step, event)


@pytest.mark.parametrize("step", STEPS)
def test_a_bug_is_a_fault_of_the_step_and_tells_nothing_private(
    bench: Bench, step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(given: Contract, run: Run) -> Contract:  # noqa: ARG001
        raise KeyError("canary", given)

    logs = Logs(capsys)
    handler: StepHandler = import_module(f"steps.{step}.handler").handler
    faulty = replace(handler.with_ports(**ready(bench, step, "ok").ports()), step=broken)
    with pytest.raises(StepFaulted) as raised:
        faulty(sample_event(step), FakeContext())
    assert "canary" not in str(raised.value) + logs.all()
    assert isinstance(raised.value, GiveUp), "nothing retries a bug"


@pytest.mark.parametrize("step", sorted({*STEPS} - {*UNRECORDED}))
def test_a_step_is_recorded_under_its_states_name(bench: Bench, step: str) -> None:
    ready(bench, step, "ok").run(step)
    event = sample_event(step)
    (record,) = bench.view(event["run"]["root"]).steps
    assert record.name == event["step"] == "".join(map(str.capitalize, step.split("_")))
    assert (record.error, record.map_index) == (None, event.get("map_index"))


@pytest.mark.parametrize("step", UNRECORDED)
def test_a_step_whose_work_is_its_own_record_is_not_recorded(bench: Bench, step: str) -> None:
    ready(bench, step, "ok").run(step)
    assert bench.view(sample_event(step)["run"]["root"]).steps == ()
