"""Keep the answer with its run and tell the event bus that it is there."""

from autoops.domain.contracts import Contract, Run
from autoops.domain.references import Private
from autoops.domain.results import Answer, Outcome
from autoops.ports import ArtifactStore, Events, Ledger


class Input(Contract):
    """The answer; None when nothing was found and no model was asked."""

    outcome: Outcome
    answer: Private[Answer | None] = None


class Output(Contract):
    """Where the answer lies; this is the run's output."""

    run: str
    outcome: Outcome
    answer: Private[Answer]


def persist_answer(
    given: Input, run: Run, *, ledger: Ledger, artifacts: ArtifactStore, events: Events
) -> Output:
    """Write outcome and answer to the run; a second delivery changes nothing.

    Raises:
        DependencyUnavailable: ledger, store or bus did not answer.
    """
    answer = given.answer or Answer(text="The documents hold nothing on this.", citations=())
    ledger.keep_result(run, given.outcome, artifacts.put(run.tenant, answer))
    events.publish("AnswerPersisted", {"run": run.root, "outcome": given.outcome})
    return Output(run=run.root, outcome=given.outcome, answer=answer)
