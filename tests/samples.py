"""Values that many tests need: a run, its opening, claims, records, requests, chunks."""

from datetime import UTC, datetime, timedelta
from typing import Final

from autoops.domain.admissions import Admission, CallClaim
from autoops.domain.contracts import Json, Run
from autoops.domain.ledger import CallRecord, OpenedRun, StepRecord
from autoops.domain.model import Message, ModelRequest, PromptVersion
from autoops.domain.passages import Chunk, Passage
from autoops.domain.pricing import Usage

NOON: Final = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
EXECUTION: Final = "arn:aws:states:us-east-1:123456789012:execution:answer-question:r1"
RUN: Final = Run(id="r1", root="answer-question:r1", workflow="answer-question", tenant="default")
CALL: Final = f"{RUN.root}/AskModel/0/0"
MODEL: Final = "us.amazon.nova-lite-v1:0"
DOLLAR: Final = 1_000_000_000


def opened(ceiling: int = DOLLAR, execution: str = EXECUTION) -> OpenedRun:
    return OpenedRun(run=RUN, execution=execution, ceiling=ceiling, opened_at=NOON)


def claim(call: str = CALL, fingerprint: str = "f" * 64, worst: int = 100) -> CallClaim:
    return CallClaim(call=call, fingerprint=fingerprint, model=MODEL, worst=worst)


def record(admission: Admission, cost: int = 40) -> CallRecord:
    return CallRecord(
        call=admission.claim.call,
        fingerprint=admission.claim.fingerprint,
        model=admission.claim.model,
        prompt="answer@1",
        attempt=admission.attempt,
        reply=f"answers/{admission.claim.call}/{admission.attempt}",
        usage=Usage(input=10, output=2),
        cost=cost,
        estimated=False,
    )


def step(number: int = 0, output: Json = None, error: str | None = None) -> StepRecord:
    return StepRecord(
        name="RetrieveContext",
        request=f"request-{number:05d}",
        function="local:$LATEST",
        attempt=0,
        map_index=None,
        started_at=NOON + timedelta(milliseconds=number),
        ended_at=NOON + timedelta(milliseconds=number + 1),
        input_hash="0" * 64,
        output=output,
        error=error,
    )


def request(question: str = "What is a yak?", model: str = MODEL) -> ModelRequest:
    return ModelRequest(
        model=model,
        prompt=PromptVersion(name="answer", version=1),
        system="You answer from the passages alone.",
        messages=(Message(role="user", blocks=("[p1] Yaks, line 1\nA yak is an ox.", question)),),
        answer="CitedAnswer",
        max_tokens=800,
    )


ANSWER: Final[dict[str, Json]] = {
    "answered": True,
    "text": "A yak is an ox.",
    "citations": [{"passage": "p1", "quote": "A yak is an ox."}],
}


def chunk(number: int = 0, said: str = "A yak is an ox.", document: str = "yaks.md") -> Chunk:
    return Chunk(
        key=f"default/{document.ljust(16, '0')[:16]}/{number:05d}",
        document=document,
        title="Yaks",
        place="line 1",
        text=said,
    )


def passage(number: int = 1, said: str = "A yak is an ox.") -> Passage:
    return Passage(id=f"p{number}", chunk=chunk(number, said), score=1.0)
