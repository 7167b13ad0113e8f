"""Admissions on the ledger table: every move of a call is one transaction.

Money, slot and state of a call move together or not at all, so no crash between two calls to
DynamoDB can leave one without the others. A condition cannot add, hence the counters.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from autoops.adapters import money
from autoops.adapters.aws import client
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
from autoops.adapters.table import CancelledError, Table
from autoops.config import settings
from autoops.domain.admissions import (
    Admission,
    AdmissionState,
    Answer,
    Asker,
    Begun,
    CallClaim,
    Limit,
    Limits,
    Refused,
    Wait,
    limit_of,
)
from autoops.domain.contracts import Run, to_json
from autoops.domain.ledger import CallRecord

OPEN_INDEX: Final = "OpenAdmissions"
TRIES_FOR_A_SLOT: Final = 3
MINUTE: Final = timedelta(minutes=1)
KEPT: Final = timedelta(hours=1)
"""How long the counter of a minute is kept."""

MAY_BE_ASKED: Final = (
    "attribute_not_exists(PK) OR #state IN (:lost, :released)"
    " OR (#state = :settled AND #fingerprint <> :fingerprint)"
)
STILL_WAITING: Final = "#state = :waiting AND #token = :seen"
STILL_CALLING: Final = "#state = :calling AND #attempt = :attempt"


class DynamoAdmissions:
    """`autoops.ports.Admissions` on a table."""

    def __init__(self, table: Table, limits: Limits, lease: timedelta) -> None:
        self._table = table
        self._limits = limits
        self._lease = lease

    # --- Let in -----------------------------------------------------------------------------------

    def grant(self, wanted: Admission, now: datetime) -> Answer:
        """See `Admissions.grant`."""
        limit = limit_of(self._limits, wanted.claim.model)
        first = shard_of(wanted.claim.call, limit.shards)
        for turn in range(min(limit.shards, TRIES_FOR_A_SLOT)):
            shard = (first + turn) % limit.shards if limit.concurrency else None
            answer = self._granted(wanted, limit, shard, now)
            if answer.refused != "full":
                return answer
        return answer

    def park(self, wanted: Admission, wait: Wait) -> bool:
        """See `Admissions.park`."""
        parked = wanted.model_copy(update={"state": AdmissionState.WAITING, "wait": wait})
        writes = [self._written(parked, wanted)]
        if wait is Wait.FULL:
            writes.append(put(self._ticket(parked), {"root": parked.run.root, "call": _call(parked)}))
        if wait is Wait.PAUSED:
            writes.append(condition(run_key(wanted.run.root, "META"), "#paused = :yes", yes=True))
        if wait is Wait.MONEY:
            writes.append(money.short_of(wanted.run, wanted.claim.worst))
        return self._moved(*writes)

    def unpark(self, waiting: Admission) -> bool:
        """See `Admissions.unpark`."""
        return self._moved(
            update(
                _key(waiting),
                "SET #state = :released REMOVE #open_in, #open_since, #token",
                STILL_WAITING,
                released=AdmissionState.RELEASED,
                waiting=AdmissionState.WAITING,
                seen=_token(waiting.asker),
            ),
            *self._without_ticket(waiting),
        )

    def ask_again(self, standing: Admission, asker: Asker) -> bool:
        """See `Admissions.ask_again`."""
        return self._moved(
            update(
                _key(standing),
                "SET #token = :token, #execution = :execution, #redrive = :redrive",
                "#state = :state AND #token = :seen",
                token=_token(asker),
                execution=asker.execution,
                redrive=asker.redrive,
                state=standing.state,
                seen=_token(standing.asker),
            )
        )

    def _granted(
        self, wanted: Admission, limit: Limit, shard: int | None, now: datetime
    ) -> Answer:
        granted = wanted.model_copy(
            update={"state": AdmissionState.GRANTED, "slot": shard, "wait": None}
        )
        model = wanted.claim.model
        writes = [
            self._written(granted, wanted),
            condition(
                run_key(wanted.run.root, "META"),
                "#paused = :no AND #stopped = :no AND #status = :running",
                no=False,
                running="RUNNING",
            ),
            money.reserve(wanted.run, wanted.claim.worst),
        ]
        if shard is not None:
            writes.append(_take(model, shard, limit.slots(shard)))
        if limit.by_minute:
            writes.append(_count(model, limit, wanted.claim.tokens, now))
        if wanted.wait is Wait.FULL:
            writes += [*self._without_ticket(wanted), put(turn_key(model), {"tenant": wanted.run.tenant})]
        try:
            self._table.transact(*writes)
        except CancelledError as cancelled:
            return _refusal(cancelled, wanted)
        return Answer(admission=granted, refused=None)

    def _written(self, new: Admission, old: Admission) -> Item:
        """The admission as it shall stand, if it stands as it was seen."""
        # Attempts count on from an earlier admission of the path: each has a reply key of its own,
        # and a worker that was given up cannot settle one that came after it.
        values: dict[str, Any] = {
            "new": new.state,
            "fingerprint": new.claim.fingerprint,
            "data": _data(new),
            "asked": new.asked_at.isoformat(),
            "execution": new.asker.execution,
            "redrive": new.asker.redrive,
            "token": _token(new.asker),
            "slot": new.slot,
            "wait": new.wait,
            "partition": f"OPEN#{shard_of(_call(new), OPEN_PARTITIONS)}",
            "zero": 0,
            "none": [],
        }
        change = (
            "SET #state = :new, #fingerprint = :fingerprint, #data = :data, #asked_at = :asked,"
            " #execution = :execution, #redrive = :redrive, #token = :token, #slot = :slot,"
            " #wait = :wait, #open_in = :partition, #open_since = :asked,"
            " #attempt = if_not_exists(#attempt, :zero), #lost = if_not_exists(#lost, :none)"
        )
        if old.wait is not None:
            waiting = {"waiting": AdmissionState.WAITING, "seen": _token(old.asker)}
            return update(_key(new), change, STILL_WAITING, **values, **waiting)
        ends = {name: AdmissionState(name) for name in ("lost", "released", "settled")}
        return update(_key(new), change, MAY_BE_ASKED, **values, **ends)

    # --- Call -------------------------------------------------------------------------------------

    def begin(self, run: Run, claim: CallClaim, now: datetime) -> Begun | None:
        """See `Admissions.begin`."""
        try:
            item = self._table.update(
                update(
                    call_key(run.root, "ADMISSION", claim.call),
                    "SET #state = :calling, #attempt = #attempt + :one, #lease = :until",
                    "#state = :granted AND #fingerprint = :fingerprint",
                    calling=AdmissionState.CALLING,
                    granted=AdmissionState.GRANTED,
                    one=1,
                    until=(now + self._lease).isoformat(),
                    fingerprint=claim.fingerprint,
                )
            )
        except CancelledError as cancelled:
            return _begun_before(cancelled.items[0], claim)
        return Begun(admission=_admission(item), now=True)

    def renew(self, calling: Admission, until: datetime) -> bool:
        """See `Admissions.renew`."""
        return self._moved(self._calling(calling, "SET #lease = :until", until=until.isoformat()))

    def repeat(self, calling: Admission, now: datetime) -> Admission | Refused:
        """See `Admissions.repeat`."""
        until = now + self._lease
        following = update(
            _key(calling),
            "SET #attempt = #attempt + :one, #lost = list_append(#lost, :these), #lease = :until",
            f"{STILL_CALLING} AND #lease = :seen",
            calling=AdmissionState.CALLING,
            attempt=calling.attempt,
            seen=_moment(calling.lease_until),
            until=until.isoformat(),
            one=1,
            these=[calling.attempt],
        )
        going = condition(
            run_key(calling.run.root, "META"), "#paused = :no AND #stopped = :no", no=False
        )
        try:
            self._table.transact(
                following, going, money.lose_and_reserve(calling.run, calling.claim.worst)
            )
        except CancelledError as cancelled:
            return _refused(cancelled)
        return calling.model_copy(
            update={
                "attempt": calling.attempt + 1,
                "lost": (*calling.lost, calling.attempt),
                "lease_until": until,
            }
        )

    def uncharge(self, calling: Admission) -> bool:
        """See `Admissions.uncharge`."""
        return self._moved(
            self._calling(
                calling, "SET #state = :granted REMOVE #lease", granted=AdmissionState.GRANTED
            ),
            condition(run_key(calling.run.root, "META"), "#stopped = :no", no=False),
        )

    # --- End --------------------------------------------------------------------------------------

    def settle(self, calling: Admission, record: CallRecord) -> bool:
        """See `Admissions.settle`."""
        writes = [
            self._ended(calling, AdmissionState.SETTLED),
            put(call_key(calling.run.root, "CALL", record.call), {"data": to_json(record)}),
            *self._freed(calling),
            *money.stop_when_dearer(calling.run, record.cost, calling.claim.worst),
        ]
        return self._paid(calling, record.cost, writes)

    def settle_late(self, standing: Admission, record: CallRecord) -> bool:
        """See `Admissions.settle_late`."""
        at = standing.lost.index(record.attempt)
        return self._moved(
            update(
                _key(standing),
                f"REMOVE #lost[{at}]",
                f"#lost[{at}] = :attempt",
                attempt=record.attempt,
            ),
            money.replace_lost(standing.run, record.cost, standing.claim.worst),
            *money.stop_when_dearer(standing.run, record.cost, standing.claim.worst),
        )

    def recover(self, calling: Admission, record: CallRecord) -> bool:
        """See `Admissions.recover`."""
        at = calling.lost.index(record.attempt)
        worst = calling.claim.worst
        return self._moved(
            update(
                _key(calling),
                "SET #state = :end REMOVE #open_in, #open_since, #lease, #token,"
                f" #lost[{at}]",
                f"{STILL_CALLING} AND #lost[{at}] = :kept",
                end=AdmissionState.SETTLED,
                calling=AdmissionState.CALLING,
                attempt=calling.attempt,
                kept=record.attempt,
            ),
            money.replace_lost(calling.run, record.cost, worst, unreserved=worst),
            put(call_key(calling.run.root, "CALL", record.call), {"data": to_json(record)}),
            *self._freed(calling),
            *money.stop_when_dearer(calling.run, record.cost, worst),
        )

    def lose(self, calling: Admission) -> bool:
        """See `Admissions.lose`."""
        return self._moved(
            update(
                _key(calling),
                "SET #state = :end, #lost = list_append(#lost, :these)"
                " REMOVE #open_in, #open_since, #lease, #token",
                f"{STILL_CALLING} AND #lease = :seen",
                end=AdmissionState.LOST,
                calling=AdmissionState.CALLING,
                attempt=calling.attempt,
                seen=_moment(calling.lease_until),
                these=[calling.attempt],
            ),
            money.lose(calling.run, calling.claim.worst),
            *self._freed(calling),
        )

    def release(self, held: Admission) -> bool:
        """See `Admissions.release`."""
        return self._moved(
            self._ended(held, AdmissionState.RELEASED),
            money.give_back(held.run, held.claim.worst),
            *self._freed(held),
        )

    # --- Look -------------------------------------------------------------------------------------

    def standing(self, root: str, call: str) -> Admission | None:
        """See `Admissions.standing`."""
        item = self._table.get(call_key(root, "ADMISSION", call))
        return None if item is None else _admission(item)

    def of_run(self, root: str) -> Iterator[Admission]:
        """See `Admissions.of_run`."""
        return map(_admission, self._table.partition(f"RUN#{root}", "ADMISSION#"))

    def open(self) -> Iterator[Admission]:
        """See `Admissions.open`."""
        for number in range(OPEN_PARTITIONS):
            yield from map(_admission, self._table.indexed(OPEN_INDEX, f"OPEN#{number}"))

    def next_in_line(self, model: str) -> Admission | None:
        """See `Admissions.next_in_line`."""
        queue = f"QUEUE#{model}"
        ticket = self._table.first(queue)
        if ticket is None:
            return None
        served = self._table.get(turn_key(model))
        if served is not None:
            # "$" comes right after "#", so this is past every ticket of the tenant served last.
            ticket = self._table.first(queue, f"{value_of(served, 'tenant')}$") or ticket
        root, call = value_of(ticket, "root"), value_of(ticket, "call")
        standing = self.standing(root, call)
        if standing is not None and standing.wait is Wait.FULL:
            return standing
        raise CorruptQueueError(root, call)

    # --- Parts of transactions --------------------------------------------------------------------

    def _paid(self, calling: Admission, cost: int, writes: list[Item]) -> bool:
        """The settle with its money; False when the attempt is not this worker's any more."""
        worst = calling.claim.worst
        try:
            self._table.transact(*writes, money.settle(calling.run, cost, worst))
        except CancelledError as cancelled:
            if cancelled.failed[0]:
                return False
            self._table.transact(*writes, money.settle(calling.run, cost, worst, warn=True))
        return True

    def _calling(self, calling: Admission, change: str, **values: object) -> Item:
        return update(
            _key(calling),
            change,
            STILL_CALLING,
            calling=AdmissionState.CALLING,
            attempt=calling.attempt,
            **values,
        )

    def _ended(self, held: Admission, end: AdmissionState) -> Item:
        return update(
            _key(held),
            "SET #state = :end REMOVE #open_in, #open_since, #lease, #token",
            "#state = :held AND #attempt = :attempt",
            end=end,
            held=held.state,
            attempt=held.attempt,
        )

    def _freed(self, held: Admission) -> list[Item]:
        if held.slot is None:
            return []
        free = update(slot_key(held.claim.model, held.slot), "SET #held = #held - :one", one=1)
        return [free]

    def _ticket(self, waiting: Admission) -> Item:
        return ticket_key(waiting.claim.model, waiting.place)

    def _without_ticket(self, waiting: Admission) -> list[Item]:
        return [delete(self._ticket(waiting))] if waiting.wait is Wait.FULL else []

    def _moved(self, *writes: Item) -> bool:
        try:
            if len(writes) == 1:
                self._table.update(writes[0])
            else:
                self._table.transact(*writes)
        except CancelledError:
            return False
        return True


@cache
def admissions() -> DynamoAdmissions:
    """The admissions of this process."""
    table = Table(client("dynamodb"), settings().ledger_table)
    return DynamoAdmissions(table, settings().limits, settings().lease)
