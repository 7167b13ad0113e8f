"""Answers from passages: one run of quoted sentences with its citation, or the plain refusal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from local.bedrock.extractive.prompt import Passage
from local.bedrock.extractive.ranking import Run, best_runs
from local.bedrock.extractive.sentences import readable

REFUSAL: Final = "The passages given do not answer this question."

# Of forty questions about the language reference, those that it answers have a score and a coverage
# of 0.49 and more, those that it does not at most 0.42 and 0.42.
_LOWEST_SCORE: Final = 0.45
_LOWEST_COVERAGE: Final = 0.45


@dataclass(frozen=True)
class Citation:
    """Where an answer stands: the passage's id and its exact words."""

    passage: str
    quote: str


@dataclass(frozen=True)
class Quoted:
    """An answer in the words of the passages; without citations it is a refusal."""

    text: str
    citations: tuple[Citation, ...]

    @property
    def answered(self) -> bool:
        """Whether the passages answer the question."""
        return bool(self.citations)


def answer(question: str, passages: Sequence[Passage]) -> Quoted:
    """Answer a question in one to three sentences of the passages, or refuse."""
    runs = best_runs(question, passages)
    if not runs or not _answers(runs[0]):
        return Quoted(REFUSAL, ())
    best = runs[0]
    return Quoted(_told(best), (Citation(best.passage.id, best.quote),))


def _answers(run: Run) -> bool:
    return run.score >= _LOWEST_SCORE and run.coverage >= _LOWEST_COVERAGE


def _told(run: Run) -> str:
    text = readable(run.quote)
    signature = run.first.signature
    return f"{signature}: {text}" if signature and run.lacks_subject else text
