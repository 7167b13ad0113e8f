"""A run is closed by the status event of its root execution, once."""

import json
from datetime import UTC, datetime

import pytest

from autoops.domain.contracts import Json
from autoops.errors import DependencyUnavailable, InvalidInput, StepFaulted
from fakes import FakeContext, FakeLedger, raising, sample_event
from samples import RUN, opened
from triggers.close_run.handler import handler
from unit.logs import Logs


@pytest.fixture
def ledger() -> FakeLedger:
    made = FakeLedger()
    made.open_run(opened())
    return made


def close(ledger: FakeLedger, event: Json) -> Json:
    ready = handler.with_ports(ledger=lambda: ledger, machine_prefix=lambda: "autoops-")
    return ready(event, FakeContext())


@pytest.mark.parametrize(
    ("case", "status", "error"),
    [
        ("ok", "SUCCEEDED", None),
        ("failed", "FAILED", "States.TaskFailed"),
        ("aborted", "ABORTED", None),
    ],
)
def test_the_end_of_the_root_closes_the_run(
    ledger: FakeLedger, case: str, status: str, error: str | None
) -> None:
    assert close(ledger, sample_event("close_run", case)) == {"root": RUN.root, "closed": True}
    book = ledger.books[RUN.root]
    assert (book.status, book.error) == (status, error)
    assert book.closed_at == datetime(2026, 12, 1, 12, 0, 5, 250_000, tzinfo=UTC)


@pytest.mark.parametrize("case", ["running", "child"])
def test_a_start_and_a_childs_end_close_nothing(ledger: FakeLedger, case: str) -> None:
    assert close(ledger, sample_event("close_run", case))["closed"] is False
    assert ledger.books[RUN.root].status == "RUNNING"


def test_an_event_seen_twice_or_late_changes_nothing(ledger: FakeLedger) -> None:
    close(ledger, sample_event("close_run", "ok"))
    for case in ("ok", "failed", "running"):
        assert close(ledger, sample_event("close_run", case))["closed"] is False
    assert ledger.books[RUN.root].status == "SUCCEEDED"


def test_the_error_that_a_step_noted_is_the_runs_error(ledger: FakeLedger) -> None:
    ledger.note_error(RUN, "BudgetExceeded")
    close(ledger, sample_event("close_run", "failed"))
    assert ledger.books[RUN.root].error == "BudgetExceeded"


@pytest.mark.parametrize(
    "event", [{}, {"detail": None}, {"detail": {}}, {"detail": {"name": 7, "status": "FAILED"}}]
)
def test_an_event_of_another_form_is_bad_input(ledger: FakeLedger, event: Json) -> None:
    with pytest.raises(InvalidInput):
        close(ledger, event)


def test_a_ledger_that_does_not_answer_leaves_the_event_to_its_retry(ledger: FakeLedger) -> None:
    ledger.watch = raising("before close_run", DependencyUnavailable("dynamodb: down"))
    with pytest.raises(DependencyUnavailable):
        close(ledger, sample_event("close_run"))
    assert close(ledger, sample_event("close_run"))["closed"] is True


def test_a_fault_tells_nothing_of_the_event(
    ledger: FakeLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = Logs(capsys)
    event = sample_event("close_run", "failed")
    ledger.watch = raising("before close_run", RuntimeError(json.dumps(event)))
    with pytest.raises(StepFaulted) as raised:
        close(ledger, event)
    assert "canary" not in str(raised.value) + logs.all()
