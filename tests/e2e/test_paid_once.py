"""kill -9 of the real worker at the very write: what the provider counts, and what the ledger."""

import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from autoops.domain.ledger import RunView
from autoops.domain.pricing import price_of
from autoops.domain.results import Outcome
from local.aws import Answer
from local.bedrock.scripts import Scripted
from local.corpus import Corpus, SourceDocument
from local.dynamodb import DynamoDbFront, failure
from local.job import Job
from local.stack import Stack, running_stack
from local.stepfunctions.events import Event

MODEL: Final = "amazon.nova-lite-v1:0"
DOCUMENT: Final = "The barn of the farm is painted red. The house is white."
GOOD: Final = {
    "answered": True,
    "text": "It is red.",
    "citations": [{"passage": "p1", "quote": "The barn of the farm is painted red."}],
}
USAGE: Final = {"inputTokens": 300, "outputTokens": 40, "totalTokens": 340}
COST: Final = price_of(MODEL).worst_case(300, 40)
BEGIN: Final = ("UpdateItem", b"ADMISSION#")
SETTLE: Final = ("TransactWriteItems", b"CALL#")


def _ignore(_execution: str, _event: Event) -> None:
    return


@dataclass
class KillingFront(DynamoDbFront):
    """Kills whoever calls the model at one of its writes, once.

    Attributes:
        at: operation and key of the write; None for none any more.
        applied: whether the write takes effect.
        kill: kills the workers.
    """

    at: tuple[str, bytes] | None = None
    applied: bool = False
    kill: Callable[[], None] = lambda: None

    def answer(self, headers: Mapping[str, str], body: bytes, run: Callable[[], Answer]) -> Answer:
        """See `DynamoDbFront.answer`."""
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        chosen = self.at is not None and self.at[0] == operation and self.at[1] in body
        if not chosen or b"/AskModel/" not in body:
            return super().answer(headers, body, run)
        self.at = None
        self.kill()
        return (
            super().answer(headers, body, run) if self.applied else failure("ThrottlingException")
        )


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Stack]:
    overrides = {"ChatModel": MODEL, "LeaseSeconds": "2"}
    async with running_stack(state_folder=tmp_path, overrides=overrides) as running:
        corpus = Corpus("a farm", (SourceDocument("farm.txt", DOCUMENT.encode()),))
        await Job(running).ingest(corpus, _ignore)
        yield running


async def _asked(stack: Stack, at: tuple[str, bytes], *, applied: bool) -> tuple[int, RunView]:
    """Conversations and the run's record, when the worker died at the write."""
    killed: list[int] = []

    def kill() -> None:
        killed.extend(stack.lambdas.workers("CallModelFunction"))
        for worker in killed:
            os.kill(worker, signal.SIGKILL)

    stack.moto.dynamodb = KillingFront(at=at, applied=applied, kill=kill)
    stack.models.script(MODEL, [Scripted(input=GOOD, usage=USAGE) for _ in range(2)])
    outcome, answer, finished = await Job(stack).ask("What colour is the barn?", None, _ignore)
    assert killed, "nobody was killed"
    assert (outcome, answer.text) == (Outcome.ANSWERED, "It is red.")
    budget = finished.ledger.budget
    assert budget.reserved == 0
    assert budget.available == budget.ceiling - budget.spent
    conversations = sum(one.operation == "converse" for one in stack.models.requests)
    return conversations, finished.ledger


def _worst(ledger: RunView) -> int:
    (admission,) = [one for one in ledger.admissions if one.claim.model == MODEL]
    return admission.claim.worst


async def test_killed_before_the_call_begins_it_is_made_once_and_nothing_else_is_charged(
    stack: Stack,
) -> None:
    conversations, ledger = await _asked(stack, BEGIN, applied=False)
    assert (conversations, ledger.budget.spent) == (1, COST)


async def test_killed_when_the_call_has_begun_the_attempt_counts_as_lost(stack: Stack) -> None:
    conversations, ledger = await _asked(stack, BEGIN, applied=True)
    assert (conversations, ledger.budget.spent) == (1, _worst(ledger) + COST)


async def test_killed_between_artifact_and_settle_the_kept_reply_is_settled(stack: Stack) -> None:
    conversations, ledger = await _asked(stack, SETTLE, applied=False)
    assert (conversations, ledger.budget.spent) == (1, COST)


async def test_killed_between_settle_and_return_the_record_answers(stack: Stack) -> None:
    conversations, ledger = await _asked(stack, SETTLE, applied=True)
    assert (conversations, ledger.budget.spent) == (1, COST)
