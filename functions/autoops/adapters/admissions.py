"""Admissions on the ledger table: every move of a call is one transaction.

Money, slot and state of a call move together or not at all, so no crash between two calls to
DynamoDB can leave one without the others.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Final

from autoops.adapters import admission_items as items
from autoops.adapters import money
from autoops.adapters.aws import client
from autoops.adapters.expressions import Item, condition, put, update, value_of
from autoops.adapters.keys import OPEN_PARTITIONS, call_key, run_key, shard_of, turn_key
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
    Settled,
    Wait,
    limit_of,
)
from autoops.domain.contracts import Run, to_json
from autoops.domain.ledger import CallRecord

OPEN_INDEX: Final = "OpenAdmissions"
TRIES: Final = 3
"""So many shards are tried for a slot, and so many heads of a queue that others serve too."""


class DynamoAdmissions:
    """`autoops.ports.Admissions` on a table.

    Args:
        table: the ledger.
        limits: what the calls of each model share.
    """

    def __init__(self, table: Table, limits: Limits) -> None:
        self._table = table
        self._limits = limits

    # --- Let in -----------------------------------------------------------------------------------

    def grant(self, wanted: Admission, now: datetime, freed: int | None = None) -> Answer:
        """See `Admissions.grant`."""
        limit = limit_of(self._limits, wanted.claim.model)
        if limit.concurrency is None:
            return self._granted(wanted, limit, None, now)
        first = shard_of(wanted.claim.call, limit.shards) if freed is None else freed
        answer = Answer(admission=None, refused="full")
        for turn in range(min(limit.shards, TRIES)):
            answer = self._granted(wanted, limit, (first + turn) % limit.shards, now)
            if answer.refused != "full":
                break
        return answer

    def park(self, wanted: Admission, wait: Wait) -> bool:
        """See `Admissions.park`."""
        parked = wanted.model_copy(
            update={"state": AdmissionState.WAITING, "wait": wait, "slot": None}
        )
        writes = [items.written(parked, wanted)]
        if wanted.wait is not wait:
            writes += items.without_ticket(wanted)
        if wait is Wait.FULL:
            writes.append(items.ticket(parked))
        if wait is Wait.PAUSED:
            writes.append(condition(run_key(wanted.run.root, "META"), "#paused = :yes", yes=True))
        if wait is Wait.MONEY:
            writes.append(money.short_of(wanted.run, wanted.claim.worst))
        return self._moved(*writes)

    def unpark(self, waiting: Admission) -> bool:
        """See `Admissions.unpark`."""
        return self._moved(
            update(
                items.key_of(waiting),
                f"SET #state = :released {items.NOBODYS}, #wait",
                items.STILL_WAITING,
                released=AdmissionState.RELEASED,
                **items.seen_waiting(waiting),
            ),
            *items.without_ticket(waiting),
        )

    def ask_again(self, standing: Admission, asker: Asker) -> bool:
        """See `Admissions.ask_again`."""
        return self._moved(
            update(
                items.key_of(standing),
                "SET #token = :token, #execution = :execution, #redrive = :redrive,"
                " #since = :since",
                "#state = :state AND #token = :seen AND #since <= :since",
                since=asker.since,
                token=items.token_of(asker),
                execution=asker.execution,
                redrive=asker.redrive,
                state=standing.state,
                seen=items.token_of(standing.asker),
            )
        )

    def _granted(self, wanted: Admission, limit: Limit, shard: int | None, now: datetime) -> Answer:
        granted = wanted.model_copy(
            update={"state": AdmissionState.GRANTED, "slot": shard, "wait": None}
        )
        model = wanted.claim.model
        writes = [
            items.written(granted, wanted),
            items.going(wanted.run),
            money.reserve(wanted.run, wanted.claim.worst),
        ]
        if shard is not None:
            writes.append(items.slot_taken(model, shard, limit.slots(shard)))
        if limit.by_minute:
            writes.append(items.counted(model, limit, wanted.claim.tokens, now))
        try:
            self._table.transact(*writes, *items.served(wanted))
        except CancelledError as cancelled:
            standing = cancelled.items[0]
            return Answer(
                admission=None if standing is None else items.read(standing),
                refused=items.refusal(cancelled),
            )
        return Answer(admission=granted, refused=None)

    # --- Call -------------------------------------------------------------------------------------

    def begin(self, run: Run, claim: CallClaim, until: datetime) -> Begun | None:
        """See `Admissions.begin`."""
        try:
            item = self._table.update(
                update(
                    call_key(run.purse, "ADMISSION", claim.call),
                    "SET #state = :calling, #attempt = #attempt + :one, #lease = :until",
                    "#state = :granted AND #fingerprint = :fingerprint",
                    calling=AdmissionState.CALLING,
                    granted=AdmissionState.GRANTED,
                    one=1,
                    until=items.moment(until),
                    fingerprint=claim.fingerprint,
                )
            )
        except CancelledError as cancelled:
            standing = cancelled.items[0]
            return None if standing is None else _begun_before(items.read(standing), claim)
        return Begun(admission=items.read(item), now=True)

    def renew(self, calling: Admission, until: datetime) -> bool:
        """See `Admissions.renew`."""
        return self._moved(items.calling(calling, "SET #lease = :until", until=items.moment(until)))

    def repeat(self, calling: Admission, until: datetime) -> Admission | Refused:
        """See `Admissions.repeat`."""
        following = items.calling(
            calling,
            "SET #attempt = #attempt + :one, #lost = list_append(#lost, :these), #lease = :until",
            " AND #lease = :seen",
            seen=_lease(calling),
            until=items.moment(until),
            one=1,
            these=[calling.attempt],
        )
        again = money.lose_and_reserve(calling.run, calling.claim.worst)
        try:
            self._table.transact(following, items.going(calling.run), again)
        except CancelledError as cancelled:
            return items.refusal(cancelled)
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
            items.calling(
                calling, "SET #state = :granted REMOVE #lease", granted=AdmissionState.GRANTED
            ),
            items.going(calling.run),
        )

    # --- End --------------------------------------------------------------------------------------

    def settle(self, calling: Admission, record: CallRecord) -> Settled:
        """See `Admissions.settle`."""
        worst = calling.claim.worst
        writes = [
            items.ended(calling, AdmissionState.SETTLED),
            put(call_key(calling.run.purse, "CALL", record.call), {"data": to_json(record)}),
            *items.slot_freed(calling),
            *money.stop_when_dearer(calling.run, record.cost, worst),
        ]
        if self._moved(*writes, money.settle(calling.run, record.cost, worst)):
            return Settled.DONE
        if self._moved(*writes, money.settle(calling.run, record.cost, worst, warn=True)):
            return Settled.WARNED
        return Settled.TAKEN_OVER

    def settle_late(self, standing: Admission, given_up: Admission, record: CallRecord) -> bool:
        """See `Admissions.settle_late`."""
        at = standing.lost.index(record.attempt)
        return self._moved(
            update(
                items.key_of(standing),
                f"REMOVE #lost[{at}]",
                f"#lost[{at}] = :attempt",
                attempt=record.attempt,
            ),
            money.replace_lost(given_up.run, record.cost, given_up.claim.worst),
            *money.stop_when_dearer(given_up.run, record.cost, given_up.claim.worst),
        )

    def recover(self, calling: Admission, record: CallRecord, *, made: bool) -> bool:
        """See `Admissions.recover`."""
        worst = calling.claim.worst
        unknown = [attempt for attempt in calling.lost if attempt != record.attempt]
        counted = record.attempt not in calling.lost
        return self._moved(
            items.calling(
                calling,
                f"SET #state = :end, #lost = :unknown {items.NOBODYS}",
                " AND #lease = :seen AND #lost = :lost",
                end=AdmissionState.SETTLED,
                unknown=[*unknown, calling.attempt] if made else unknown,
                lost=list(calling.lost),
                seen=_lease(calling),
            ),
            money.recover(calling.run, None if counted else record.cost, worst, made=made),
            put(call_key(calling.run.purse, "CALL", record.call), {"data": to_json(record)}),
            *items.slot_freed(calling),
            *money.stop_when_dearer(calling.run, 0 if counted else record.cost, worst),
        )

    def lose(self, calling: Admission) -> bool:
        """See `Admissions.lose`."""
        return self._moved(
            items.calling(
                calling,
                f"SET #state = :end, #lost = list_append(#lost, :these) {items.NOBODYS}",
                " AND #lease = :seen",
                end=AdmissionState.LOST,
                seen=_lease(calling),
                these=[calling.attempt],
            ),
            money.lose(calling.run, calling.claim.worst),
            *items.slot_freed(calling),
        )

    def release(self, held: Admission) -> bool:
        """See `Admissions.release`."""
        return self._moved(
            items.ended(held, AdmissionState.RELEASED),
            money.give_back(held.run, held.claim.worst),
            *items.slot_freed(held),
        )

    # --- Look -------------------------------------------------------------------------------------

    def standing(self, purse: str, call: str) -> Admission | None:
        """See `Admissions.standing`."""
        item = self._table.get(call_key(purse, "ADMISSION", call))
        return None if item is None else items.read(item)

    def of_run(self, root: str) -> Iterator[Admission]:
        """See `Admissions.of_run`."""
        slices = self._table.partition(f"RUN#{root}", "SLICE#")
        for purse in (root, *(value_of(item, "purse") for item in slices)):
            yield from map(items.read, self._table.partition(f"RUN#{purse}", "ADMISSION#"))

    def open(self) -> Iterator[Admission]:
        """See `Admissions.open`."""
        for number in range(OPEN_PARTITIONS):
            yield from map(items.read, self._table.indexed(OPEN_INDEX, "open_in", f"OPEN#{number}"))

    def next_in_line(self, model: str) -> Admission | None:
        """See `Admissions.next_in_line`."""
        if not limit_of(self._limits, model).limited:
            return None
        for _ in range(TRIES):
            ticket = self._head(model)
            if ticket is None:
                return None
            standing = self.standing(value_of(ticket, "root"), value_of(ticket, "call"))
            if standing is not None and standing.wait is Wait.FULL:
                return standing
        return None

    def _head(self, model: str) -> Item | None:
        """The ticket whose turn it is: the first of the tenant after the one served last."""
        queue = f"QUEUE#{model}"
        first = self._table.first(queue)
        if first is None:
            return None
        served = self._table.get(turn_key(model))
        if served is None:
            return first
        # "$" comes right after "#", so this is past every ticket of the tenant served last.
        return self._table.first(queue, f"{value_of(served, 'tenant')}$") or first

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
    return DynamoAdmissions(table, settings().limits)


def _begun_before(standing: Admission, claim: CallClaim) -> Begun | None:
    """What stands when the call was not granted just now: None where it has to be asked for."""
    same = standing.claim.fingerprint == claim.fingerprint
    under_way = standing.state in (AdmissionState.CALLING, AdmissionState.SETTLED)
    return Begun(admission=standing, now=False) if same and under_way else None


def _lease(calling: Admission) -> str:
    """The lease as it was seen; one that is calling has one."""
    return "" if calling.lease_until is None else items.moment(calling.lease_until)
