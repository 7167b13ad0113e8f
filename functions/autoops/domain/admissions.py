"""Admitted calls: how a call is let in, what limits it shares, where it stands."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from autoops.domain.contracts import Contract, Run

SLOTS_PER_SHARD: Final = 16
MOST_SHARDS: Final = 8
EVERY_MODEL: Final = "*"


class AdmissionState(StrEnum):
    """Where an admitted call stands: waiting, granted, calling, then one of the three ends."""

    WAITING = "waiting"
    GRANTED = "granted"
    CALLING = "calling"
    SETTLED = "settled"
    LOST = "lost"
    RELEASED = "released"


class Wait(StrEnum):
    """Why a call is parked: a limit is full, the run is paused, or its money does not reach."""

    FULL = "full"
    PAUSED = "paused"
    MONEY = "money"


class CallClaim(Contract):
    """One model call, before it is made.

    Attributes:
        call: the call path, its identity: `<root>/<state>/<counter>[/<Map index>]/<correction>`.
        fingerprint: SHA-256 of everything that decides the reply; another one is another call.
        model: priced model id.
        worst: nano-dollars that the call cannot pass.
        prompt: `<name>@<version>`, or the name of what is asked without a prompt.
        tokens: about how many input tokens the model will count, and all the output it may write;
            for the limit of tokens a minute alone, money uses bounds.
    """

    call: str
    fingerprint: str
    model: str
    worst: Annotated[int, Field(ge=0)]
    prompt: str = ""
    tokens: Annotated[int, Field(ge=0)] = 0


class Asker(Contract):
    """The execution that waits for a call to be admitted.

    Attributes:
        execution: its ARN, a child's where a child asks.
        redrive: its redrive count; the same execution redriven is another asker.
        since: when the state was entered, how often it was redriven and retried since, as text that
            sorts: a worker of an earlier try that comes late must not take a later one's place.
        token: task token of the waiting state, None for one that does not wait.
    """

    execution: str
    redrive: Annotated[int, Field(ge=0)] = 0
    since: str = ""
    token: str | None = None


class Limit(Contract):
    """What the calls of one model share; None is without a limit.

    Attributes:
        concurrency: calls at one time.
        requests: calls begun in one minute.
        tokens: tokens of the calls begun in one minute.
    """

    concurrency: Annotated[int, Field(gt=0)] | None = None
    requests: Annotated[int, Field(gt=0)] | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None

    @property
    def shards(self) -> int:
        """Over how many counters the slots are spread, so that few calls meet at one of them."""
        return min(MOST_SHARDS, max(1, (self.concurrency or 0) // SLOTS_PER_SHARD))

    def slots(self, shard: int) -> int:
        """How many of the slots a shard has; the shards have all of them together."""
        each, rest = divmod(self.concurrency or 0, self.shards)
        return each + (1 if shard < rest else 0)

    @property
    def limited(self) -> bool:
        """Whether a call may have to wait for another."""
        return self.concurrency is not None or self.by_minute

    @property
    def by_minute(self) -> bool:
        """Whether calls are counted by the minute."""
        return self.requests is not None or self.tokens is not None


Limits = Mapping[str, Limit]
"""Limits by model id; `*` is for every model without one of its own, each counted by itself."""


def limit_of(limits: Limits, model: str) -> Limit:
    """The limit that a model's calls share."""
    return limits.get(model) or limits.get(EVERY_MODEL) or Limit()


class Admission(Contract):
    """A claim and where it stands.

    Attributes:
        run: whose call it is; the tenants of runs take turns.
        asker: who waits for it.
        asked_at: when the call asked first; its place in the queue.
        attempt: number of the latest attempt, 0 before the first.
        lost: attempts whose outcome is unknown, each charged at its worst case.
        lease_until: until when the worker that is calling is believed to be alive.
        slot: shard of the concurrency slot that it holds, None for none.
        wait: why it is waiting, None when it is not.
    """

    run: Run
    claim: CallClaim
    asker: Asker
    state: AdmissionState
    asked_at: datetime
    attempt: int = 0
    lost: tuple[int, ...] = ()
    lease_until: datetime | None = None
    slot: int | None = None
    wait: Wait | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Its ticket in the model's queue: the tenant, then who asked first."""
        return self.run.tenant, f"{self.asked_at.isoformat(timespec='microseconds')}#" + (
            self.claim.call
        )

    def alive(self, now: datetime) -> bool:
        """Whether a worker is calling under it."""
        calling = self.state is AdmissionState.CALLING
        return calling and self.lease_until is not None and now < self.lease_until

    @property
    def ended(self) -> bool:
        """Whether nothing is reserved or held for it."""
        return self.state in ENDS


ENDS: Final = frozenset({AdmissionState.SETTLED, AdmissionState.LOST, AdmissionState.RELEASED})


class Begun(Contract):
    """An admission that a worker wants to call under.

    Attributes:
        now: this very worker moved it to calling; False when it was calling or settled before.
    """

    admission: Admission
    now: bool


Refused = Literal["standing", "closed", "stopped", "paused", "money", "full"]
"""Why a transaction was refused: another move came first, the run has ended or never opened, it was
stopped, it is paused, its money does not reach, or the limits are used up."""


class Answer(Contract):
    """What became of asking for a call.

    Attributes:
        admission: the call as it stands, None when there is no record of it.
        refused: why it was not granted just now; None when it was.
    """

    admission: Admission | None
    refused: Refused | None


class Settled(StrEnum):
    """What a settle did: it counted, it counted and passed the soft limit, or it came too late."""

    DONE = "done"
    WARNED = "warned"
    TAKEN_OVER = "taken over"
