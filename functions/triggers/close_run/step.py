"""Close a run's record when Step Functions says that its root execution ended."""

from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field

from autoops.closing import Closing
from autoops.domain.contracts import Contract
from autoops.gate import Gate
from autoops.ports import ArtifactStore


class StatusChange(BaseModel):
    """The detail of a Step Functions status event; AWS may add fields, which do not matter.

    Attributes:
        state_machine: ARN of the machine.
        name: the execution's name.
        stopped_at: milliseconds since 1970, None while it runs.
        redrive: how often the execution was redriven.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    state_machine: str = Field(alias="stateMachineArn")
    name: str
    status: str
    error: str | None = None
    stopped_at: int | None = Field(default=None, alias="stopDate")
    redrive: int = Field(default=0, alias="redriveCount")


class Closed(Contract):
    """Whether a run was closed: a child's event, and an event seen twice, close nothing.

    Attributes:
        released: how many calls were let in or waited that nobody will make any more.
    """

    root: str
    closed: bool
    released: int = 0


def close_run(
    change: StatusChange, gate: Gate, artifacts: ArtifactStore, machine_prefix: str
) -> Closed:
    """Write how the run ended, and give back what its calls hold.

    Args:
        change: what Step Functions says.
        gate: holds the run and its calls.
        artifacts: hold replies that were not settled.
        machine_prefix: what stands before the workflow's name in its machine's name.

    Raises:
        DependencyUnavailable: the ledger did not answer.
    """
    machine = change.state_machine.rsplit(":", 1)[-1]
    root = f"{machine.removeprefix(machine_prefix)}:{change.name}"
    if change.stopped_at is None:
        return Closed(root=root, closed=False)
    at = datetime.fromtimestamp(change.stopped_at / 1000, UTC)
    closed = gate.ledger.close_run(root, change.status, change.error, at, change.redrive)
    return Closed(root=root, closed=closed, released=Closing(gate, artifacts).close(root))
