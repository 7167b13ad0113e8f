"""What a run gives to the one who started it."""

from enum import StrEnum

from autoops.domain.contracts import Contract
from autoops.domain.passages import Citation, DocumentState


class Outcome(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    ABSTAINED = "abstained"
    UNGROUNDED = "ungrounded"
    NO_CONTEXT = "no_context"


class Answer(Contract):
    """An answer in plain sentences, with the words that bear it out."""

    text: str
    citations: tuple[Citation, ...]


class IngestedDocument(Contract):
    """What became of one document.

    Attributes:
        chunks: how many the index holds of it now.
        problem: what is wrong, None when all of it went in.
    """

    document: str
    state: DocumentState
    chunks: int
    problem: str | None
