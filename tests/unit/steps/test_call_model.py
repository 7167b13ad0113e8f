"""One call, judged: accepted, sent back with its violations, or given up under a real name."""

from contextlib import nullcontext

import pytest

from autoops.domain.admissions import AdmissionState
from autoops.domain.contracts import Json
from autoops.domain.model import ModelReply, ModelRequest
from autoops.domain.pricing import Usage
from autoops.errors import (
    AdmissionLost,
    AutoOpsError,
    ContentBlocked,
    ModelFaulted,
    ModelThrottled,
    OutputEmpty,
    OutputRejected,
    OutputTruncated,
)
from fakes import TOKENS, sample_event, text, tool
from unit.steps.bench import DOLLAR, Bench, cost_of

GOOD: Json = {"answered": True, "text": "A yak-canary is an ox.", "citations": []}
ROOT = "answer-question:r1"
COST = cost_of(TOKENS.input, TOKENS.output)


def spent(bench: Bench) -> tuple[int, int, int]:
    return bench.money(bench.view(ROOT).opened.run)


@pytest.mark.parametrize(
    "reply",
    [
        tool(GOOD),
        text('```json\n{"answered":true,"text":"A yak-canary is an ox.","citations":[]}\n```\nOk?'),
    ],
)
def test_a_good_answer_is_accepted_after_one_call(bench: Bench, reply: ModelReply) -> None:
    bench.admit("call_model")
    bench.model.script = [reply]
    payload = bench.run("call_model")
    assert (payload["accepted"], payload["again"], payload["violations"]) == (True, None, 0)
    assert bench.value(payload["answer"]) == GOOD
    assert payload["cost"] == COST
    assert payload["usage"] == TOKENS.model_dump()
    assert len(bench.model.requests) == 1
    assert spent(bench) == (DOLLAR - COST, 0, COST)


def test_a_retry_judges_the_same_reply_and_asks_nobody(bench: Bench) -> None:
    bench.admit("call_model")
    bench.model.script = [tool(GOOD)]
    first = bench.run("call_model")
    assert bench.run("call_model") == first
    assert len(bench.model.requests) == 1


def test_a_bad_answer_goes_back_with_its_violations(bench: Bench) -> None:
    bench.admit("call_model")
    bench.model.script = [tool({"answered": "maybe"})]
    payload = bench.run("call_model")
    assert (payload["accepted"], payload["answer"], payload["cost"]) == (False, None, COST)
    assert payload["violations"] == 3
    again = ModelRequest.read(bench.value(payload["again"]))
    first = ModelRequest.read(bench.value(sample_event("call_model")["input"]["request"]))
    assert again.messages[:1] == first.messages
    assert "answered: " in again.messages[-1].blocks[0]


def test_a_second_correction_is_written_from_the_first_request_so_it_does_not_grow(
    bench: Bench,
) -> None:
    bench.admit("call_model")
    bench.model.script = [text("Hm." * 5_000), text("Well." * 5_000)]
    event = sample_event("call_model")
    once = ModelRequest.read(bench.value(bench.handle("call_model", event)["again"]))
    event["input"] |= {"call": "answer-question:r1/AskModel/0/1", "correction": 1}
    event["input"]["request"] = bench.artifacts.put("default", once).model_dump()
    bench.behind.ask(bench.open("call_model"), bench.claim(event["input"]))
    twice = ModelRequest.read(bench.value(bench.handle("call_model", event)["again"]))
    assert len(twice.messages) == len(once.messages) == 3
    assert "Well." in twice.messages[1].blocks[0]


def test_after_the_last_correction_a_bad_answer_ends_the_run_and_is_paid(bench: Bench) -> None:
    bench.admit("call_model", "last_correction")
    bench.model.script = [text("I would rather explain the canary...")]
    with pytest.raises(OutputRejected, match="1 violations after 2 corrections") as raised:
        bench.run("call_model", "last_correction")
    assert "canary" not in str(raised.value)
    assert spent(bench) == (DOLLAR - COST, 0, COST)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (text('{"approved_total": 12', stop_reason="max_tokens"), OutputTruncated),
        (tool(GOOD, stop_reason="max_tokens"), OutputTruncated),
        (text("Sorry, blocked.", stop_reason="guardrail_intervened"), ContentBlocked),
        (tool(GOOD, stop_reason="new_reason"), ModelFaulted),
    ],
)
def test_a_reply_that_is_no_answer_is_paid_once_and_never_used(
    bench: Bench, reply: ModelReply, error: type[AutoOpsError]
) -> None:
    bench.admit("call_model")
    bench.model.script = [reply]
    for _ in range(2):
        with pytest.raises(error):
            bench.run("call_model")
    assert len(bench.model.requests) == 1
    assert spent(bench) == (DOLLAR - COST, 0, COST)


def test_an_empty_reply_without_usage_is_charged_its_worst_case(bench: Bench) -> None:
    claim = bench.admit("call_model", "last_correction")
    bench.model.script = [text("", usage=None)]
    with pytest.raises(OutputEmpty):
        bench.run("call_model", "last_correction")
    (record,) = bench.view(ROOT).calls
    assert (record.cost, record.estimated) == (claim.worst, True)


def test_an_empty_reply_is_sent_back_before_it_ends_the_run(bench: Bench) -> None:
    bench.admit("call_model")
    bench.model.script = [text("")]
    payload = bench.run("call_model")
    assert (payload["accepted"], payload["violations"], payload["cost"]) == (False, 1, COST)


@pytest.mark.parametrize("last", [GOOD, {"answered": "still not"}])
def test_three_attempts_at_an_answer_are_all_counted_whether_the_last_one_helps_or_not(
    bench: Bench, last: Json
) -> None:
    usages = [
        Usage(input=1_000, output=200),
        Usage(input=1_300, output=200),
        Usage(input=1_600, output=50),
    ]
    event = sample_event("call_model")
    run = bench.open("call_model")
    for number, usage in enumerate(usages):
        event["input"] |= {"call": f"answer-question:r1/AskModel/0/{number}", "correction": number}
        bench.behind.ask(run, bench.claim(event["input"]))
        said = tool(last, usage=usage) if number == 2 else text("Hm.", usage=usage)
        bench.model.script.append(said)
        fails = number == 2 and last is not GOOD
        with pytest.raises(OutputRejected) if fails else nullcontext():
            event["input"]["request"] = bench.handle("call_model", event)["again"]
    calls = bench.view(ROOT).calls
    total = sum((call.usage for call in calls if call.usage), Usage())
    assert (total.input, total.output) == (3_900, 450)
    assert bench.money(run)[2] == sum(call.cost for call in calls)


def test_a_throttled_call_costs_nothing_and_comes_back_through_the_gate(bench: Bench) -> None:
    bench.admit("call_model")
    bench.model.script = [ModelThrottled("bedrock: ThrottlingException"), tool(GOOD)]
    with pytest.raises(ModelThrottled):
        bench.run("call_model")
    assert spent(bench) == (DOLLAR, 0, 0)
    with pytest.raises(AdmissionLost):
        bench.run("call_model")
    bench.admit("call_model")
    assert bench.run("call_model")["accepted"]
    assert spent(bench) == (DOLLAR - COST, 0, COST)


def test_a_call_that_was_not_admitted_is_not_made(bench: Bench) -> None:
    bench.open("call_model")
    with pytest.raises(AdmissionLost):
        bench.run("call_model")
    assert bench.model.requests == []


def test_a_request_that_was_not_the_admitted_one_is_not_made(bench: Bench) -> None:
    bench.admit("call_model")
    asked = bench.value(sample_event("call_model")["input"]["request"])
    other = bench.artifacts.put("default", {**asked, "max_tokens": 64_000})
    with pytest.raises(AdmissionLost):
        bench.run("call_model", request=other.model_dump())
    assert bench.model.requests == []


def test_the_record_names_model_prompt_and_attempt(bench: Bench) -> None:
    claim = bench.admit("call_model")
    bench.model.script = [tool(GOOD)]
    bench.run("call_model")
    seen = bench.view(ROOT)
    (record,), (admission,) = seen.calls, seen.admissions
    assert (record.prompt, record.attempt, record.model) == ("answer@1", 1, claim.model)
    assert admission.state is AdmissionState.SETTLED
