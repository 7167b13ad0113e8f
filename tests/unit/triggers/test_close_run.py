"""A run is closed by the status event of its root execution, once, and its calls with it."""

import json
from datetime import timedelta

import pytest

from autoops.domain.admissions import AdmissionState
from autoops.domain.contracts import Json
from autoops.errors import DependencyUnavailable, InvalidInput, StepFaulted
from fakes import FakeContext, raising, sample_event
from gate_bench import DOLLAR, GateBench
from samples import CALL, RUN, claim
from triggers.close_run.handler import handler
from unit.logs import Logs


@pytest.fixture
def bench() -> GateBench:
    made = GateBench()
    made.open(RUN)
    return made


def close(bench: GateBench, event: Json) -> Json:
    ready = handler.with_ports(
        gate=lambda: bench.gate,
        artifacts=lambda: bench.artifacts,
        machine_prefix=lambda: "autoops-",
    )
    return ready(event, FakeContext())


def redriven(case: str, times: int) -> Json:
    """A status event of an execution that was redriven so often."""
    event = sample_event("close_run", case)
    event["detail"]["redriveCount"] = times
    return event


@pytest.mark.parametrize(
    ("case", "status", "error"),
    [
        ("ok", "SUCCEEDED", None),
        ("failed", "FAILED", "States.TaskFailed"),
        ("aborted", "ABORTED", None),
    ],
)
def test_the_end_of_the_root_closes_the_run(
    bench: GateBench, case: str, status: str, error: str | None
) -> None:
    closed = close(bench, sample_event("close_run", case))
    assert closed == {"root": RUN.root, "closed": True, "released": 0}
    seen = bench.view(RUN)
    assert (seen.status, seen.error) == (status, error)
    meta = bench.dynamodb.items[f"RUN#{RUN.root}", "META"]
    assert meta["closed_at"]["S"] == "2026-12-01T12:00:05.250000+00:00"


@pytest.mark.parametrize("case", ["running", "child"])
def test_a_start_and_a_childs_end_close_nothing(bench: GateBench, case: str) -> None:
    assert close(bench, sample_event("close_run", case))["closed"] is False
    assert bench.view(RUN).status == "RUNNING"


def test_an_event_seen_twice_or_late_changes_nothing(bench: GateBench) -> None:
    close(bench, sample_event("close_run", "ok"))
    for case in ("ok", "failed", "running"):
        assert close(bench, sample_event("close_run", case))["closed"] is False
    assert bench.view(RUN).status == "SUCCEEDED"


def test_the_error_that_a_step_noted_is_the_runs_error(bench: GateBench) -> None:
    bench.ledger.note_error(RUN, "BudgetExceeded")
    close(bench, sample_event("close_run", "failed"))
    assert bench.view(RUN).error == "BudgetExceeded"


@pytest.mark.parametrize(
    "event", [{}, {"detail": None}, {"detail": {}}, {"detail": {"name": 7, "status": "FAILED"}}]
)
def test_an_event_of_another_form_is_bad_input(bench: GateBench, event: Json) -> None:
    with pytest.raises(InvalidInput):
        close(bench, event)


def test_a_ledger_that_does_not_answer_leaves_the_event_to_its_retry(bench: GateBench) -> None:
    bench.watch = raising("before close_run", DependencyUnavailable("dynamodb: down"))
    with pytest.raises(DependencyUnavailable):
        close(bench, sample_event("close_run"))
    assert close(bench, sample_event("close_run"))["closed"] is True


def test_a_fault_tells_nothing_of_the_event(
    bench: GateBench, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = Logs(capsys)
    event = sample_event("close_run", "failed")
    bench.watch = raising("before close_run", RuntimeError(json.dumps(event)))
    with pytest.raises(StepFaulted) as raised:
        close(bench, event)
    assert "canary" not in str(raised.value) + logs.all()


def test_the_end_of_a_run_gives_back_what_its_calls_hold(bench: GateBench) -> None:
    bench.ask(RUN, claim())
    bench.workflows.running.clear()
    assert close(bench, sample_event("close_run", "aborted"))["released"] == 1
    assert bench.states(RUN) == {CALL: AdmissionState.RELEASED}
    assert bench.money(RUN) == (DOLLAR, 0, 0)


def test_a_call_that_a_child_still_makes_is_left_alone(bench: GateBench) -> None:
    bench.ask(RUN, claim())
    bench.calls(RUN).gate.admissions.begin(RUN, claim(), bench.gate.lease_end())
    bench.workflows.running.clear()
    assert close(bench, sample_event("close_run", "failed"))["released"] == 0
    assert bench.states(RUN) == {CALL: AdmissionState.CALLING}


def test_an_event_seen_twice_releases_what_the_first_could_not(bench: GateBench) -> None:
    bench.ask(RUN, claim())
    bench.workflows.running.clear()
    bench.watch = raising("before release", DependencyUnavailable("dynamodb: down"))
    with pytest.raises(DependencyUnavailable):
        close(bench, sample_event("close_run"))
    again = close(bench, sample_event("close_run"))
    assert (again["closed"], again["released"]) == (False, 1)


def test_the_end_before_a_redrive_never_undoes_the_redrive(bench: GateBench) -> None:
    assert close(bench, redriven("failed", 0))["closed"] is True
    bench.ledger.reopen(RUN.root, 1)
    assert close(bench, redriven("failed", 0))["closed"] is False
    assert bench.view(RUN).status == "RUNNING"
    assert close(bench, redriven("ok", 1))["closed"] is True
    assert (bench.view(RUN).status, bench.view(RUN).redrive) == ("SUCCEEDED", 1)


def test_the_end_after_a_redrive_counts_though_nobody_reopened_the_run(bench: GateBench) -> None:
    close(bench, redriven("failed", 0))
    bench.clock.advance(timedelta(minutes=1))
    assert close(bench, redriven("ok", 1))["closed"] is True
    assert close(bench, redriven("failed", 0))["closed"] is False
    assert (bench.view(RUN).status, bench.view(RUN).error) == ("SUCCEEDED", None)
