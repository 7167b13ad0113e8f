"""The whole stack with real processes: what a crash and a stubborn model cost, and who pays."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from autoops.domain.admissions import AdmissionState
from autoops.domain.pricing import price_of
from autoops.domain.results import Outcome
from local.bedrock.scripts import Scripted
from local.corpus import Corpus, SourceDocument
from local.job import Job, RunFailedError
from local.stack import Stack, running_stack
from local.stepfunctions.events import Event

MODEL = "amazon.nova-lite-v1:0"
QUESTION = "What colour is the barn?"
DOCUMENT = "The barn of the farm is painted red. The house is white."
GOOD = {
    "answered": True,
    "text": "It is red.",
    "citations": [{"passage": "p1", "quote": "The barn of the farm is painted red."}],
}
USAGE: Mapping[str, Any] = {"inputTokens": 300, "outputTokens": 40, "totalTokens": 340}
LEASE = "2"
"""Seconds: a worker that was killed is not waited for as long as on AWS."""

COST = price_of(MODEL).worst_case(300, 40)


def _ignore(_execution: str, _event: Event) -> None:
    return


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Stack]:
    overrides = {"ChatModel": MODEL, "LeaseSeconds": LEASE}
    async with running_stack(state_folder=tmp_path, overrides=overrides) as running:
        corpus = Corpus("a farm", (SourceDocument("farm.txt", DOCUMENT.encode()),))
        await Job(running).ingest(corpus, _ignore)
        yield running


def _reply(answer: Mapping[str, Any], **more: Any) -> Scripted:
    return Scripted(input=dict(answer), usage=dict(USAGE), **more)


async def test_killed_worker_is_retried_and_the_lost_attempt_is_charged(stack: Stack) -> None:
    stack.models.script(MODEL, [_reply(GOOD, delay=30), _reply(GOOD)])
    asking = asyncio.ensure_future(Job(stack).ask(QUESTION, None, _ignore))
    while not _conversations(stack):
        await asyncio.sleep(0.01)
    (worker,) = stack.lambdas.workers("CallModelFunction")
    os.kill(worker, signal.SIGKILL)
    outcome, answer, finished = await asking
    assert outcome is Outcome.ANSWERED
    assert answer.text == "It is red."
    assert _conversations(stack) == 2
    ledger = finished.ledger
    (call,) = [one for one in ledger.calls if one.model == MODEL]
    (admission,) = [one for one in ledger.admissions if one.claim.model == MODEL]
    assert call.attempt == 2
    assert admission.lost == (1,)
    assert ledger.budget.spent == admission.claim.worst + COST
    assert ledger.budget.reserved == 0
    assert ledger.budget.available == ledger.budget.ceiling - ledger.budget.spent


async def test_two_invalid_answers_then_a_valid_one_are_three_calls_paid_and_one_answer(
    stack: Stack,
) -> None:
    without_text = {"answered": True, "citations": []}
    stack.models.script(MODEL, [_reply(without_text), _reply({"text": 7}), _reply(GOOD)])
    outcome, answer, finished = await Job(stack).ask(QUESTION, None, _ignore)
    assert (outcome, answer.text) == (Outcome.ANSWERED, "It is red.")
    calls = [one for one in finished.ledger.calls if one.model == MODEL]
    assert [one.call.rsplit("/", 1)[-1] for one in calls] == ["0", "1", "2"]
    assert [one.cost for one in calls] == [COST] * 3
    assert finished.ledger.budget.spent == 3 * COST
    assert _conversations(stack) == 3
    last = stack.models.requests[-1].body
    assert "text: " in last["messages"][-1]["content"][-1]["text"]


async def test_a_run_over_its_ceiling_ends_before_the_call_and_its_record_says_why(
    stack: Stack,
) -> None:
    stack.models.script(MODEL, [_reply(GOOD)])
    with pytest.raises(RunFailedError) as failed:
        await Job(stack).ask(QUESTION, "0.000001", _ignore)
    assert failed.value.error == "BudgetExceeded"
    assert _conversations(stack) == 0
    record = failed.value.record.read_text()
    assert '"error": "BudgetExceeded"' in record
    assert '"status": "FAILED"' in record
    assert '"spent": 0' in record


async def test_nothing_of_the_run_is_left_reserved_once_it_closed(stack: Stack) -> None:
    stack.models.script(MODEL, [_reply(GOOD)])
    _, _, finished = await Job(stack).ask(QUESTION, None, _ignore)
    assert finished.ledger.status == "SUCCEEDED"
    assert {one.state for one in finished.ledger.admissions} == {AdmissionState.SETTLED}
    assert finished.ledger.budget.reserved == 0


async def test_question_answer_and_document_stay_out_of_histories_and_logs(
    stack: Stack, tmp_path: Path
) -> None:
    stack.models.script(MODEL, [_reply(GOOD)])
    _, _, finished = await Job(stack).ask(QUESTION, None, _ignore)
    shown = finished.record.read_text() + (tmp_path / "stack.log").read_text()
    for private in (QUESTION, "painted red", "It is red."):
        assert private not in shown


def _conversations(stack: Stack) -> int:
    return sum(1 for request in stack.models.requests if request.operation == "converse")
