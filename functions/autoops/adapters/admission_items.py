"""An admission as an item of the ledger table, and what is written beside it in a transaction."""

from datetime import datetime, timedelta
from typing import Any, Final

from autoops.adapters.expressions import Item, condition, delete, put, update, value_of
from autoops.adapters.keys import (
    OPEN_PARTITIONS,
    call_key,
    rate_key,
    run_key,
    shard_of,
    slot_key,
    ticket_key,
    turn_key,
)
from autoops.adapters.table import CancelledError
from autoops.domain.admissions import (
    Admission,
    AdmissionState,
    Asker,
    CallClaim,
    Limit,
    Refused,
    Wait,
)
from autoops.domain.contracts import Contract, Run, to_json

KEPT: Final = timedelta(hours=1)
"""How long the counter of a minute is kept."""

MAY_BE_ASKED: Final = (
    "attribute_not_exists(PK) OR #state IN (:lost, :released)"
    " OR (#state = :settled AND #fingerprint <> :fingerprint)"
)
STILL_WAITING: Final = (
    "#state = :waiting AND #token = :seen AND #wait = :why AND #asked_at = :asked"
)
STILL_CALLING: Final = "#state = :calling AND #attempt = :attempt"
NOBODYS: Final = "REMOVE #open_in, #open_since, #lease, #token"
"""An admission that ended is open no more, and nobody waits for it."""


class _Kept(Contract):
    run: Run
    claim: CallClaim


def key_of(admission: Admission) -> Item:
    """Its place in the table."""
    return call_key(admission.run.purse, "ADMISSION", admission.claim.call)


def token_of(asker: Asker) -> str:
    """The token as the table keeps it."""
    return asker.token or ""


def moment(at: datetime) -> str:
    """A time as the table keeps it: text that sorts."""
    return at.isoformat(timespec="microseconds")


def read(item: Item) -> Admission:
    """The admission that an item holds."""
    kept = _Kept.model_validate_json(value_of(item, "data"))
    lease = value_of(item, "lease") if "lease" in item else None
    wait = value_of(item, "wait") if "wait" in item else None
    token = value_of(item, "token") if "token" in item else ""
    return Admission(
        run=kept.run,
        claim=kept.claim,
        asker=Asker(
            execution=value_of(item, "execution"),
            redrive=value_of(item, "redrive"),
            since=value_of(item, "since"),
            token=token or None,
        ),
        state=AdmissionState(value_of(item, "state")),
        asked_at=datetime.fromisoformat(value_of(item, "asked_at")),
        attempt=value_of(item, "attempt"),
        lost=tuple(value_of(item, "lost")),
        lease_until=None if lease is None else datetime.fromisoformat(lease),
        slot=value_of(item, "slot"),
        wait=None if wait is None else Wait(wait),
    )


def written(new: Admission, old: Admission) -> Item:
    """The admission as it shall stand, if it stands as it was seen."""
    # Attempts count on from an earlier admission of the path: each has a reply key of its own,
    # and a worker that was given up cannot settle one that came after it.
    values: dict[str, Any] = {
        "new": new.state,
        "fingerprint": new.claim.fingerprint,
        "data": to_json(_Kept(run=new.run, claim=new.claim)),
        "asked": moment(new.asked_at),
        "execution": new.asker.execution,
        "redrive": new.asker.redrive,
        "since": new.asker.since,
        "token": token_of(new.asker),
        "slot": new.slot,
        "now": new.wait,
        "partition": f"OPEN#{shard_of(new.claim.call, OPEN_PARTITIONS)}",
        "zero": 0,
        "none": [],
    }
    change = (
        "SET #state = :new, #fingerprint = :fingerprint, #data = :data, #asked_at = :asked,"
        " #execution = :execution, #redrive = :redrive, #since = :since, #token = :token,"
        " #slot = :slot,"
        " #wait = :now, #open_in = :partition, #open_since = :asked,"
        " #attempt = if_not_exists(#attempt, :zero), #lost = if_not_exists(#lost, :none)"
    )
    if old.wait is not None:
        values |= seen_waiting(old)
        return update(key_of(new), change, STILL_WAITING, **values)
    ends = {name: AdmissionState(name) for name in ("lost", "released", "settled")}
    return update(key_of(new), change, MAY_BE_ASKED, **values, **ends)


def seen_waiting(waiting: Admission) -> dict[str, Any]:
    """The values of `STILL_WAITING`."""
    return {
        "waiting": AdmissionState.WAITING,
        "seen": token_of(waiting.asker),
        "why": waiting.wait,
        "asked": moment(waiting.asked_at),
    }


def calling(admission: Admission, change: str, when: str = "", **values: object) -> Item:
    """A change of an admission whose attempt is still the one that was seen."""
    return update(
        key_of(admission),
        change,
        f"{STILL_CALLING}{when}",
        calling=AdmissionState.CALLING,
        attempt=admission.attempt,
        **values,
    )


def ended(held: Admission, end: AdmissionState) -> Item:
    """The end of an admission that stands as it was seen."""
    # Before the first attempt only the moment of asking tells an admission from the one before it.
    return update(
        key_of(held),
        f"SET #state = :end {NOBODYS}",
        "#state = :held AND #attempt = :attempt AND #asked_at = :since",
        end=end,
        held=held.state,
        attempt=held.attempt,
        since=moment(held.asked_at),
    )


def going(run: Run) -> Item:
    """The run goes on: neither paused nor stopped nor at its end."""
    return condition(
        run_key(run.root, "META"),
        "#paused = :no AND #stopped = :no AND #status = :running",
        no=False,
        running="RUNNING",
    )


def slot_taken(model: str, shard: int, slots: int) -> Item:
    """One slot of a shard, if one is free."""
    return update(
        slot_key(model, shard),
        "SET #held = if_not_exists(#held, :zero) + :one",
        "attribute_not_exists(PK) OR #held < :slots",
        zero=0,
        one=1,
        slots=slots,
    )


def slot_freed(held: Admission) -> list[Item]:
    """The slot that an admission holds."""
    if held.slot is None:
        return []
    return [update(slot_key(held.claim.model, held.slot), "SET #held = #held - :one", one=1)]


def counted(model: str, limit: Limit, tokens: int, now: datetime) -> Item:
    """One call more in this minute, if the minute has room for it.

    A call of more tokens than a minute has is let in alone: it could never be made otherwise.
    """
    when, values = ["attribute_not_exists(PK)"], dict[str, object]()
    if limit.requests is not None:
        when.append("#requests < :requests")
        values["requests"] = limit.requests
    if limit.tokens is not None:
        when.append("#tokens <= :room")
        values["room"] = max(0, limit.tokens - tokens)
    fresh, *full = when
    return update(
        rate_key(model, now),
        "SET #requests = if_not_exists(#requests, :zero) + :one,"
        " #tokens = if_not_exists(#tokens, :zero) + :count, #expires = :expires",
        f"{fresh} OR ({' AND '.join(full)})",
        zero=0,
        one=1,
        count=tokens,
        expires=int((now + KEPT).timestamp()),
        **values,
    )


def ticket(waiting: Admission) -> Item:
    """A place in the queue of the model."""
    return put(
        ticket_key(waiting.claim.model, waiting.place),
        {"root": waiting.run.purse, "call": waiting.claim.call},
    )


def without_ticket(waiting: Admission) -> list[Item]:
    """Nobody stands in the queue any more."""
    if waiting.wait is not Wait.FULL:
        return []
    return [delete(ticket_key(waiting.claim.model, waiting.place))]


def served(waiting: Admission) -> list[Item]:
    """Who leaves the queue, and that its tenant had its turn."""
    turn = put(turn_key(waiting.claim.model), {"tenant": waiting.run.tenant})
    return [*without_ticket(waiting), turn] if waiting.wait is Wait.FULL else []


def refusal(cancelled: CancelledError) -> Refused:
    """Why {admission, META, BUDGET, limits} were not written, the weightiest reason first."""
    failed = cancelled.failed
    if failed[0]:
        return "standing"
    if failed[1]:
        return _halted(cancelled.items[1])
    return "money" if failed[2] else "full"


def _halted(meta: Item | None) -> Refused:
    if meta is None:
        return "closed"
    if value_of(meta, "stopped"):
        return "stopped"
    return "closed" if value_of(meta, "status") != "RUNNING" else "paused"
