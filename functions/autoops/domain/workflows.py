"""What each workflow takes to start, and its limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from autoops.domain.contracts import Contract, Tenant
from autoops.domain.ledger import OnBudget, OnUnknown
from autoops.domain.references import Private
from autoops.errors import InvalidInput

QUESTION_CHARACTERS: Final = 8_000


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty; write the question")
    if len(text) > QUESTION_CHARACTERS:
        raise ValueError(f"has {len(text):,} characters; write at most {QUESTION_CHARACTERS:,}")
    return text


Question = Annotated[str, AfterValidator(_not_blank)]


class Start(Contract):
    """What every workflow takes.

    Attributes:
        tenant: whose run it is.
        budget: ceiling in dollars such as "0.25", None for the workflow's default.
        on_budget: "stop" ends the run when its money does not cover a call, "ask" lets the call
            wait until somebody raises the budget.
        on_unknown: "repeat" makes a call whose outcome is unknown once more, "fail" does not.
    """

    tenant: Tenant = "default"
    budget: str | None = None
    on_budget: OnBudget = OnBudget.STOP
    on_unknown: OnUnknown = OnUnknown.REPEAT


class AnswerQuestion(Start):
    """A question over the tenant's documents."""

    question: Private[Question]


class IngestDocuments(Start):
    """Documents to make searchable.

    Attributes:
        prefix: keys below `<tenant>/<prefix>` in the documents bucket; "" for all of them.
    """

    prefix: Annotated[str, Field(max_length=512)] = ""


@dataclass(frozen=True)
class Workflow:
    """A workflow's start contract and default ceiling in dollars."""

    start: type[Start]
    budget: str


WORKFLOWS: Final[Mapping[str, Workflow]] = {
    "answer-question": Workflow(AnswerQuestion, budget="0.10"),
    "ingest-documents": Workflow(IngestDocuments, budget="1.00"),
}


def workflow_named(name: str) -> Workflow:
    """The workflow's contract.

    Raises:
        InvalidInput: no such workflow.
    """
    if name not in WORKFLOWS:
        raise InvalidInput(f"workflow: {name} is not one of {', '.join(sorted(WORKFLOWS))}")
    return WORKFLOWS[name]
