"""A run opens once, with its start validated and its ceiling the least of three."""

import pytest

from autoops.domain.contracts import Json
from autoops.domain.references import is_reference
from autoops.errors import InvalidInput
from fakes import sample_event
from unit.steps.bench import DOLLAR, Bench


def start(**fields: Json) -> Json:
    return {"question": "What is a yak?", **fields}


def test_the_run_opens_with_its_budget_and_its_question_by_reference(bench: Bench) -> None:
    payload = bench.run("open_run")
    assert payload["run"] == {**sample_event("open_run")["run"], "slice": None}
    assert payload["ceiling"] == DOLLAR // 20
    assert payload["start"]["tenant"] == "default"
    assert is_reference(payload["start"]["question"])
    assert bench.value(payload["start"]["question"]) == "What is a yak-canary?"
    seen = bench.view("answer-question:r1")
    assert (seen.budget.available, seen.status) == (DOLLAR // 20, "RUNNING")


def test_each_workflow_has_a_start_of_its_own(bench: Bench) -> None:
    payload = bench.run("open_run", "ingest")
    assert payload["start"] == {
        "tenant": "default",
        "budget": None,
        "on_budget": "stop",
        "on_unknown": "repeat",
        "prefix": "guides/",
    }
    assert payload["ceiling"] == DOLLAR


def test_opened_again_it_returns_the_same_and_keeps_the_money(bench: Bench) -> None:
    first = bench.run("open_run")
    assert bench.run("open_run") == first
    assert bench.run("open_run", start=start(budget="9.00"))["ceiling"] == first["ceiling"]
    assert bench.view("answer-question:r1").budget.ceiling == DOLLAR // 20


def test_without_a_budget_the_workflows_own_holds(bench: Bench) -> None:
    assert bench.run("open_run", start=start())["ceiling"] == DOLLAR // 10


def test_no_budget_passes_the_accounts_maximum(bench: Bench) -> None:
    assert bench.run("open_run", start=start(budget="1e9"))["ceiling"] == 10 * DOLLAR


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (start(budget="0"), "budget: must be above 0"),
        (start(budget="-1"), "budget: must be above 0"),
        (start(budget="NaN"), "budget: must be a finite amount"),
        (start(budget="lots"), "budget: not a number"),
        (start(question=" "), "question: must not be empty"),
        (start(question="x" * 100_000), "question: has 100,000 characters"),
        (start(tenant="../other"), "tenant: "),
        (start(model="dearest"), "model: Extra inputs"),
        ("a question", "input: "),
        (None, "input: "),
    ],
)
def test_a_bad_start_is_named_and_opens_nothing(bench: Bench, given: Json, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        bench.run("open_run", start=given)
    assert bench.ledger.view("answer-question:r1") is None


def test_a_workflow_that_is_not_there_opens_nothing(bench: Bench) -> None:
    event = sample_event("open_run")
    event["run"] |= {"workflow": "nope", "root": "nope:r1"}
    with pytest.raises(InvalidInput, match="nope is not one of"):
        bench.handle("open_run", event)


def test_a_run_of_another_execution_is_not_opened_over(bench: Bench) -> None:
    bench.run("open_run")
    with pytest.raises(InvalidInput, match="another execution"):
        bench.run("open_run", execution="arn:aws:states:::execution:answer-question:other")
