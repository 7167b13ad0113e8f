"""No call without its worst case reserved; the token is answered when it is, at once or later."""

import pytest

from autoops.domain.admissions import Limit, Wait
from autoops.domain.contracts import Json
from autoops.errors import (
    AdmissionLost,
    BudgetExceeded,
    CallInProgress,
    DependencyUnavailable,
    InvalidInput,
    ModelThrottled,
    RunStopped,
    UnpricedModel,
)
from fakes import FakeEmbedder, killed, raising, sample_event
from samples import request
from steps.admit.step import READMISSIONS
from unit.steps.bench import DOLLAR, Bench


def told(payload: Json) -> Json:
    """What the token is answered with."""
    return {"call": payload["call"], "worst": payload["worst"]}


@pytest.mark.parametrize(("case", "token"), [("ok", "token-1"), ("texts", "token-2")])
def test_the_worst_case_is_reserved_and_the_token_answered(
    bench: Bench, case: str, token: str
) -> None:
    run = bench.open("admit", case)
    payload = bench.run("admit", case)
    assert payload["worst"] > 0
    assert payload["state"] == "granted"
    assert bench.money(run) == (DOLLAR - payload["worst"], payload["worst"], 0)
    assert bench.workflows.answered == [(token, told(payload))]


def test_a_call_that_has_to_wait_answers_no_token_and_holds_no_money(bench: Bench) -> None:
    run = bench.open("admit")
    bench.behind.limits["*"] = Limit(concurrency=1)
    bench.run("admit", call="answer-question:r1/AskModel/1/0", token="token-first")
    before = bench.money(run)
    assert bench.run("admit")["state"] == "waiting"
    assert [token for token, _ in bench.workflows.answered] == ["token-first"]
    (waiting,) = [one for one in bench.view(run.root).admissions if one.wait]
    assert (waiting.wait, waiting.asker.token) == (Wait.FULL, "token-1")
    assert bench.money(run) == before


def test_who_asks_is_the_execution_that_waits_at_its_redrive(bench: Bench) -> None:
    run = bench.open("admit")
    bench.run("admit", redrive=2)
    (admission,) = bench.view(run.root).admissions
    asked = sample_event("admit")["input"]
    assert (admission.asker.execution, admission.asker.redrive) == (asked["execution"], 2)


def test_where_the_model_counts_ahead_less_is_reserved_than_the_bytes_bound(bench: Bench) -> None:
    bench.open("admit")
    bound = bench.run("admit")["worst"]
    bench.counter.tokens = 10
    counted = bench.run("admit", call="answer-question:r1/AskModel/1/0")["worst"]
    assert 0 < counted < bound


def test_an_earlier_try_of_the_state_does_not_take_the_place_of_a_later_one(bench: Bench) -> None:
    bench.open("admit")
    bench.run("admit", since="2026-12-01T12:00:00.000Z/001", token="later")
    with pytest.raises(CallInProgress, match="a later try"):
        bench.run("admit", since="2026-12-01T12:00:00.000Z/000", token="earlier")
    assert [token for token, _ in bench.workflows.answered] == ["later"]


def test_a_retry_reserves_nothing_more_and_answers_its_new_token(bench: Bench) -> None:
    run = bench.open("admit")
    first = bench.run("admit")
    assert bench.run("admit", token="token-new") == first
    assert bench.money(run) == (DOLLAR - first["worst"], first["worst"], 0)
    assert [token for token, _ in bench.workflows.answered] == ["token-1", "token-new"]


def test_a_crash_between_reserving_and_answering_is_made_good_by_the_retry(bench: Bench) -> None:
    run = bench.open("admit")
    bench.behind.watch = killed("after grant")
    with pytest.raises(BaseException, match="after grant"):
        bench.run("admit")
    payload = bench.run("admit")
    assert bench.money(run) == (DOLLAR - payload["worst"], payload["worst"], 0)
    assert bench.workflows.answered == [("token-1", told(payload))]


def test_a_call_over_the_budget_is_refused_and_its_token_not_answered(bench: Bench) -> None:
    run = bench.open("admit", ceiling=1_000)
    with pytest.raises(BudgetExceeded):
        bench.run("admit")
    assert (bench.money(run), bench.workflows.answered) == ((1_000, 0, 0), [])
    assert bench.view(run.root).error == "BudgetExceeded"


def test_a_stopped_run_admits_nothing(bench: Bench) -> None:
    run = bench.open("admit")
    bench.ledger.stop(run.root)
    with pytest.raises(RunStopped):
        bench.run("admit")
    assert (bench.money(run), bench.workflows.answered) == ((DOLLAR, 0, 0), [])


def test_when_the_ledger_is_out_of_reach_nothing_is_admitted(bench: Bench) -> None:
    bench.open("admit")
    bench.behind.watch = raising("before grant", DependencyUnavailable("dynamodb: down"))
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


def test_a_call_that_was_refused_for_rate_too_often_ends(bench: Bench) -> None:
    bench.open("admit")
    assert bench.run("admit", throttled=READMISSIONS)
    with pytest.raises(ModelThrottled, match=f"for rate {READMISSIONS + 1} times"):
        bench.run("admit", throttled=READMISSIONS + 1)


@pytest.mark.parametrize("counter", ["again", "throttled"])
def test_a_redrive_allows_one_more(bench: Bench, counter: str) -> None:
    bench.open("admit")
    event = sample_event("admit")
    event["input"] |= {"redrive": 1, counter: READMISSIONS + 1}
    assert bench.handle("admit", event)


def test_a_call_is_a_question_or_texts_and_never_both_or_neither(bench: Bench) -> None:
    bench.open("admit")
    texts = sample_event("admit", "texts")["input"]["texts"]
    for changes in ({"texts": texts}, {"request": None}):
        with pytest.raises(InvalidInput, match="either request or texts"):
            bench.run("admit", **changes)


def test_what_is_admitted_for_texts_is_what_the_embedder_will_claim(bench: Bench) -> None:
    bench.open("admit", "texts")
    bench.run("admit", "texts")
    (admission,) = bench.view("answer-question:r1").admissions
    given = sample_event("retrieve_context")["input"]
    assert admission.claim == bench.claim(given)
    assert bench.settings["embedding_model"] == FakeEmbedder().model
