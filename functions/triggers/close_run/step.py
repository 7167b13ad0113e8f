"""Close a run's record when Step Functions says that its root execution ended."""

from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field

from autoops.domain.contracts import Contract
from autoops.ports import Ledger


class StatusChange(BaseModel):
    """The detail of a Step Functions status event; AWS may add fields, which do not matter.

    Attributes:
        state_machine: ARN of the machine.
        name: the execution's name.
        stopped_at: milliseconds since 1970, None while it runs.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    state_machine: str = Field(alias="stateMachineArn")
    name: str
    status: str
    error: str | None = None
    stopped_at: int | None = Field(default=None, alias="stopDate")


class Closed(Contract):
    """Whether a run was closed: a child's event, and an event seen twice, close nothing."""

    root: str
    closed: bool


def close_run(change: StatusChange, ledger: Ledger, machine_prefix: str) -> Closed:
    """Write how the run ended.

    Args:
        change: what Step Functions says.
        ledger: holds the run.
        machine_prefix: what stands before the workflow's name in its machine's name.

    Raises:
        DependencyUnavailable: the ledger did not answer.
    """
    machine = change.state_machine.rsplit(":", 1)[-1]
    root = f"{machine.removeprefix(machine_prefix)}:{change.name}"
    if change.stopped_at is None:
        return Closed(root=root, closed=False)
    at = datetime.fromtimestamp(change.stopped_at / 1000, UTC)
    closed = ledger.close_run(root, change.status, change.error, at)
    return Closed(root=root, closed=closed)
