"""Hold the answer's citations against the passages, and say what kind of answer it is."""

from autoops.domain.answers import CitedAnswer
from autoops.domain.citations import checked
from autoops.domain.contracts import Contract, Run
from autoops.domain.passages import Passage
from autoops.domain.references import Private
from autoops.domain.results import Answer, Outcome


class Input(Contract):
    """The model's answer and the passages it was given."""

    answer: Private[CitedAnswer]
    passages: Private[tuple[Passage, ...]]


class Output(Contract):
    """The answer as people get it.

    Attributes:
        outcome: answered, abstained, or ungrounded when no citation stands in its passage.
        dropped: citations that do not stand in the passage they name.
    """

    outcome: Outcome
    dropped: int
    answer: Private[Answer]


def post_process(given: Input, run: Run) -> Output:  # noqa: ARG001  # every step gets the run
    """Keep the citations that stand, resolved to document and place."""
    said = given.answer
    citations = checked(said.citations, given.passages) if said.answered else ()
    return Output(
        outcome=_outcome(said, len(citations)),
        dropped=sum(not checked((quote,), given.passages) for quote in said.citations),
        answer=Answer(text=said.text, citations=citations),
    )


def _outcome(said: CitedAnswer, citations: int) -> Outcome:
    if not said.answered:
        return Outcome.ABSTAINED
    return Outcome.ANSWERED if citations else Outcome.UNGROUNDED
