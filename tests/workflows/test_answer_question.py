"""answer-question from end to end."""

import json

import pytest

from autoops.domain.admissions import AdmissionState
from autoops.domain.model import ModelReply
from autoops.domain.pricing import Usage, price_of
from autoops.domain.prompts import read_prompt
from autoops.errors import ModelThrottled, ModelTimedOut, ModelUnavailable
from local.lambdas.in_process import WorkerKilled
from steps.retrieve_context.step import PROMPT
from workflows.bench import EMBEDDER, MODEL, Bench, raising, reply

QUESTION = "what colour is the barn?"
START = {"question": QUESTION}
ROOT = "answer-question:r1"
GOOD = {
    "answered": True,
    "text": "It is red.",
    "citations": [{"passage": "p1", "quote": "barn of the farm is painted red"}],
}
COST = price_of(MODEL).actual(Usage(input=100, output=20))


def _spent_on_model(bench: Bench) -> list[int]:
    return [call.cost for call in bench.view(ROOT).calls if call.model == MODEL]


async def test_question_is_answered_with_checked_citations_and_the_run_closes(
    farm: Bench,
) -> None:
    farm.model.says = [reply(GOOD)]
    described = await farm.run("answer-question", START)
    output = json.loads(described["output"])
    assert output["outcome"] == "answered"
    answer = json.loads(farm.artifacts.content[output["answer"]["artifact"]])
    assert answer["text"] == "It is red."
    assert [one["document"] for one in answer["citations"]] == ["farm.txt"]
    view = farm.view(ROOT)
    assert (view.status, view.outcome, view.error) == ("SUCCEEDED", "answered", None)
    assert farm.published == [("AnswerPersisted", {"run": ROOT, "outcome": "answered"})]


async def test_two_invalid_answers_then_a_valid_one_are_two_corrections_and_three_calls(
    farm: Bench,
) -> None:
    farm.model.says = [reply({"answered": "yes"}), reply({"text": 3}), reply(GOOD)]
    described = await farm.run("answer-question", START)
    assert described["status"] == "SUCCEEDED"
    assert _spent_on_model(farm) == [COST] * 3
    turns = [len(request.messages) for request in farm.model.asked]
    assert turns == [1, 3, 3], "a correction grows from the first request"
    assert "text: Field required" in farm.model.asked[1].messages[-1].blocks[0]


async def test_the_last_correction_that_fails_ends_the_run_as_output_rejected(
    farm: Bench,
) -> None:
    farm.model.says = [reply({"answered": "yes"})] * 3
    described = await farm.run("answer-question", START)
    assert described["status"] == "FAILED"
    assert json.loads(described["cause"])["Error"] == "OutputRejected"
    view = farm.view(ROOT)
    assert (view.status, view.error) == ("FAILED", "OutputRejected")
    assert len(farm.model.asked) == 3
    assert view.budget.reserved == 0


async def test_a_run_over_its_ceiling_ends_as_budget_exceeded_before_the_call(
    farm: Bench,
) -> None:
    described = await farm.run("answer-question", {**START, "budget": "0.00001"})
    assert described["status"] == "FAILED"
    view = farm.view(ROOT)
    assert (view.status, view.error) == ("FAILED", "BudgetExceeded")
    assert farm.model.asked == []
    assert view.budget.available + view.budget.spent == view.budget.ceiling == 10_000


async def test_every_call_record_names_its_prompt_and_the_version_of_it(farm: Bench) -> None:
    farm.model.says = [reply({"answered": "yes"}), reply(GOOD)]
    await farm.run("answer-question", START)
    version = read_prompt(PROMPT).version
    asked = [request.prompt for request in farm.model.asked]
    assert asked == [version, version], "a correction is made from the same prompt"
    prompts = {"embed": EMBEDDER, f"{version.name}@{version.version}": MODEL}
    calls = [*farm.view(ROOT).calls, *farm.view("ingest-documents:ingest").calls]
    assert {call.prompt for call in calls} == prompts.keys()
    assert all(prompts[call.prompt] == call.model for call in calls)


async def test_nothing_found_asks_no_model_and_says_so(farm: Bench) -> None:
    described = await farm.run("answer-question", {"question": "quantum chromodynamics"})
    assert json.loads(described["output"])["outcome"] == "no_context"
    assert farm.model.asked == []


async def test_a_citation_that_does_not_stand_in_its_passage_is_dropped(farm: Bench) -> None:
    invented = {"passage": "p1", "quote": "the barn is green"}
    farm.model.says = [reply({**GOOD, "citations": [invented]})]
    described = await farm.run("answer-question", START)
    assert json.loads(described["output"])["outcome"] == "ungrounded"


async def test_worker_killed_during_the_call_is_retried_and_the_lost_attempt_is_charged(
    farm: Bench,
) -> None:
    farm.model.says = [WorkerKilled(), reply(GOOD)]
    described = await farm.run("answer-question", START)
    assert described["status"] == "SUCCEEDED"
    view = farm.view(ROOT)
    (admission,) = [one for one in view.admissions if one.claim.model == MODEL]
    assert (admission.state, admission.lost) == (AdmissionState.SETTLED, (1,))
    embedding = sum(call.cost for call in view.calls if call.model != MODEL)
    assert view.budget.spent == admission.claim.worst + COST + embedding


async def test_worker_killed_after_the_settle_is_retried_and_nothing_is_paid_again(
    farm: Bench,
) -> None:
    farm.model.says = [reply(GOOD)]
    farm.after["CallModelFunction"] = [raising(WorkerKilled())]
    described = await farm.run("answer-question", START)
    assert described["status"] == "SUCCEEDED"
    assert _spent_on_model(farm) == [COST]
    assert len(farm.model.asked) == 1


async def test_a_throttled_model_is_waited_for_and_costs_nothing(farm: Bench) -> None:
    farm.model.says = [ModelThrottled("slow"), ModelUnavailable("gone"), reply(GOOD)]
    described = await farm.run("answer-question", START)
    assert described["status"] == "SUCCEEDED"
    assert _spent_on_model(farm) == [COST]
    assert farm.view(ROOT).budget.reserved == 0


async def test_a_call_that_times_out_twice_gives_up_and_both_are_charged(farm: Bench) -> None:
    farm.model.says = [ModelTimedOut("late"), ModelTimedOut("late")]
    described = await farm.run("answer-question", START)
    assert json.loads(described["cause"])["Error"] == "OutcomeUnknown"
    view = farm.view(ROOT)
    (admission,) = [one for one in view.admissions if one.claim.model == MODEL]
    assert (admission.state, admission.lost) == (AdmissionState.LOST, (1, 2))
    assert view.budget.reserved == 0
    assert view.budget.spent >= 2 * admission.claim.worst
    assert len(farm.model.asked) == 2


async def test_a_truncated_answer_is_paid_and_never_becomes_data(farm: Bench) -> None:
    cut = ModelReply(
        stop_reason="max_tokens",
        text="",
        tool_input=GOOD,
        usage=Usage(input=100, output=20),
    )
    farm.model.says = [cut]
    described = await farm.run("answer-question", START)
    assert json.loads(described["cause"])["Error"] == "OutputTruncated"
    assert _spent_on_model(farm) == [COST]
    assert farm.view(ROOT).result is None


async def test_a_bad_start_is_refused_with_the_field_and_nothing_is_spent(farm: Bench) -> None:
    for start, field in (
        ({"question": "  "}, "question"),
        ({}, "question"),
        ({**START, "budget": "0"}, "budget"),
        ({**START, "colour": "red"}, "colour"),
    ):
        described = await farm.run("answer-question", start, f"bad-{field}-{len(start)}")
        assert described["error"] == "InvalidInput"
        assert field in json.loads(described["cause"])["errorMessage"]
    assert farm.model.asked == []


async def test_question_answer_and_document_never_enter_a_history(
    farm: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    farm.model.says = [reply({"answered": "canary-answer"}), reply(GOOD)]
    kept = farm.artifacts.put("default", QUESTION)
    await farm.run("answer-question", {"question": kept.model_dump()})
    printed = capsys.readouterr().out
    assert "CloudWatchMetrics" in printed, "metrics are looked at too"
    shown = "".join(repr(event) for event in farm.events()) + printed
    shown += repr(list(farm.dynamodb.items.values())) + repr(farm.published)
    for private in (QUESTION, "painted red", "It is red.", "canary-answer"):
        assert private not in shown
