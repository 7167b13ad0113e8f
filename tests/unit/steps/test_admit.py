"""No call without its worst case reserved; the token is answered when it is."""

import pytest

from autoops.errors import (
    AdmissionLost,
    BudgetExceeded,
    DependencyUnavailable,
    InvalidInput,
    RunStopped,
    UnpricedModel,
)
from fakes import FakeEmbedder, killed, raising, sample_event
from samples import request
from steps.admit.step import READMISSIONS
from unit.steps.bench import DOLLAR, Bench


@pytest.mark.parametrize(("case", "token"), [("ok", "token-1"), ("texts", "token-2")])
def test_the_worst_case_is_reserved_and_the_token_answered(
    bench: Bench, case: str, token: str
) -> None:
    run = bench.open("admit", case)
    payload = bench.run("admit", case)
    assert payload["worst"] > 0
    assert bench.money(run) == (DOLLAR - payload["worst"], payload["worst"], 0)
    assert bench.workflows.answered == [(token, payload)]


def test_a_retry_reserves_nothing_more_and_answers_its_new_token(bench: Bench) -> None:
    run = bench.open("admit")
    first = bench.run("admit")
    assert bench.run("admit", token="token-new") == first
    assert bench.money(run) == (DOLLAR - first["worst"], first["worst"], 0)
    assert [token for token, _ in bench.workflows.answered] == ["token-1", "token-new"]


def test_a_crash_between_reserving_and_answering_is_made_good_by_the_retry(bench: Bench) -> None:
    run = bench.open("admit")
    bench.ledger.watch = killed("after admit")
    with pytest.raises(BaseException, match="after admit"):
        bench.run("admit")
    payload = bench.run("admit")
    assert bench.money(run) == (DOLLAR - payload["worst"], payload["worst"], 0)
    assert bench.workflows.answered == [("token-1", payload)]


def test_a_call_over_the_budget_is_refused_and_its_token_not_answered(bench: Bench) -> None:
    run = bench.open("admit", ceiling=1_000)
    with pytest.raises(BudgetExceeded):
        bench.run("admit")
    assert (bench.money(run), bench.workflows.answered) == ((1_000, 0, 0), [])
    assert bench.ledger.books[run.root].error == "BudgetExceeded"


def test_a_stopped_run_admits_nothing(bench: Bench) -> None:
    run = bench.open("admit")
    bench.ledger.books[run.root].stopped = True
    with pytest.raises(RunStopped):
        bench.run("admit")


def test_when_the_ledger_is_out_of_reach_nothing_is_admitted(bench: Bench) -> None:
    bench.open("admit")
    bench.ledger.watch = raising("before admit", DependencyUnavailable("dynamodb: down"))
    with pytest.raises(DependencyUnavailable):
        bench.run("admit")
    assert bench.workflows.answered == []


def test_an_unpriced_model_is_refused_before_anything_is_reserved(bench: Bench) -> None:
    run = bench.open("admit")
    asked = bench.artifacts.put("default", request(model="vendor.new-model-v9:0"))
    with pytest.raises(UnpricedModel):
        bench.run("admit", request=asked.model_dump())
    assert bench.money(run) == (DOLLAR, 0, 0)


def test_a_call_whose_admission_was_lost_too_often_ends(bench: Bench) -> None:
    bench.open("admit")
    assert bench.run("admit", again=READMISSIONS)
    with pytest.raises(AdmissionLost, match=f"lost {READMISSIONS + 1} times"):
        bench.run("admit", again=READMISSIONS + 1)


def test_a_call_is_a_question_or_texts_and_never_both_or_neither(bench: Bench) -> None:
    bench.open("admit")
    texts = sample_event("admit", "texts")["input"]["texts"]
    for changes in ({"texts": texts}, {"request": None}):
        with pytest.raises(InvalidInput, match="either request or texts"):
            bench.run("admit", **changes)


def test_what_is_admitted_for_texts_is_what_the_embedder_will_claim(bench: Bench) -> None:
    bench.open("admit", "texts")
    bench.run("admit", "texts")
    (admission,) = bench.ledger.books["answer-question:r1"].admissions.values()
    given = sample_event("retrieve_context")["input"]
    assert admission.claim == bench.claim(given)
    assert bench.settings["embedding_model"] == FakeEmbedder().model
