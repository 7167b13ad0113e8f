"""Each minute: end what nobody works on any more, and let in who was forgotten."""

from pydantic import BaseModel, ConfigDict

from autoops.closing import Closing
from autoops.domain.contracts import Contract
from autoops.gate import Gate
from autoops.ports import ArtifactStore


class Tick(BaseModel):
    """The detail of a scheduled event, which says nothing."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Swept(Contract):
    """How many admissions moved."""

    moved: int


def sweep(tick: Tick, gate: Gate, artifacts: ArtifactStore) -> Swept:
    """Look at every admission that has not ended.

    Raises:
        DependencyUnavailable: the ledger or Step Functions did not answer; the next sweep goes on.
    """
    del tick
    return Swept(moved=Closing(gate, artifacts).sweep())
