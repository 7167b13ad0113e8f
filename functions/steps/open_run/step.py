"""Open a run: validate what it starts with and give it its budget."""

from pydantic import SerializeAsAny

from autoops.domain.contracts import Contract, Json, Run
from autoops.domain.ledger import OpenedRun
from autoops.domain.money import ceiling, dollars
from autoops.domain.workflows import Start, workflow_named
from autoops.ports import Clock, Ledger


class Input(Contract):
    """What the execution started with.

    Attributes:
        execution: ARN of the root execution.
        start: the execution's input, as the workflow's start contract wants it.
    """

    execution: str
    start: Json


class Output(Contract):
    """The opened run.

    Attributes:
        run: passed to every later step and to children.
        start: the validated start, private fields by reference.
        ceiling: nano-dollars that the run may spend.
    """

    run: Run
    start: SerializeAsAny[Start]
    ceiling: int


def open_run(given: Input, run: Run, ledger: Ledger, clock: Clock, account_ceiling: int) -> Output:
    """Write META and BUDGET once; a retry finds them and returns the same.

    Args:
        given: what the execution started with.
        run: the run as the state machine names it.
        ledger: where it is written.
        clock: for the time of opening.
        account_ceiling: most nano-dollars that any run may spend.

    Raises:
        InvalidInput: names the field of the start that is wrong.
    """
    workflow = workflow_named(run.workflow)
    start = workflow.start.read(given.start)
    allowed = ceiling(start.budget, dollars(workflow.budget, "budget"), account_ceiling)
    opened = ledger.open_run(
        OpenedRun(
            run=run,
            execution=given.execution,
            ceiling=allowed,
            opened_at=clock.now(),
            on_budget=start.on_budget,
            on_unknown=start.on_unknown,
        )
    )
    return Output(run=run, start=start, ceiling=opened.ceiling)
