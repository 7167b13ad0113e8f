"""What is true of the ledger's table after every single call, and of how its items may change."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from autoops.adapters.expressions import value_of
from autoops.domain.admissions import Limit, limit_of
from autoops.domain.ledger import SOFT_LIMIT_PERCENT
from fake_dynamodb import Item, Key

ENDS = frozenset({"settled", "lost", "released"})
MOVES = frozenset(
    {
        ("waiting", "waiting"),
        ("waiting", "granted"),
        ("waiting", "released"),
        ("granted", "granted"),
        ("granted", "calling"),
        ("granted", "released"),
        ("calling", "calling"),
        ("calling", "granted"),
        *(("calling", end) for end in ENDS),
        *((end, again) for end in ENDS for again in ("waiting", "granted")),
        ("settled", "settled"),
        ("lost", "lost"),
        ("released", "released"),
    }
)


META = ("status", "redrive", "paused", "stopped")


class Meta(NamedTuple):
    """What a run's record says of where it stands."""

    status: str
    redrive: int
    paused: bool
    stopped: bool


@dataclass(frozen=True)
class Seen:
    """An admission as its item has it."""

    root: str
    tenant: str
    call: str
    fingerprint: str
    model: str
    worst: int
    state: str
    wait: str | None
    slot: int | None
    attempt: int
    lost: tuple[int, ...]
    lease: datetime | None
    asked: str
    open: bool

    @property
    def held(self) -> bool:
        return self.state in ("granted", "calling")

    @property
    def ticket(self) -> Key:
        return f"QUEUE#{self.model}", f"{self.tenant}#{self.asked}#{self.call}"


@cache
def _data(text: str) -> Any:
    return json.loads(text)


def seen(item: Item) -> Seen:
    data = _data(value_of(item, "data"))
    lease = value_of(item, "lease") if "lease" in item else None
    return Seen(
        root=data["run"]["root"],
        tenant=data["run"]["tenant"],
        call=data["claim"]["call"],
        fingerprint=value_of(item, "fingerprint"),
        model=data["claim"]["model"],
        worst=data["claim"]["worst"],
        state=value_of(item, "state"),
        wait=value_of(item, "wait") if "wait" in item else None,
        slot=value_of(item, "slot"),
        attempt=value_of(item, "attempt"),
        lost=tuple(value_of(item, "lost")),
        lease=None if lease is None else datetime.fromisoformat(lease),
        asked=value_of(item, "asked_at"),
        open="open_in" in item,
    )


class Invariants:
    """Looks at the table after each call.

    Args:
        items: the table.
        limits: what calls share.
        most: the account's ceiling.

    Attributes:
        admissions: as they stand, by key.
        costs: what each reply cost, by call and attempt; filled by the provider.
        counted: attempts that the ledger has counted, by call and attempt.
    """

    def __init__(self, items: Mapping[Key, Item], limits: Mapping[str, Limit], most: int) -> None:
        self._items = items
        self._limits = limits
        self._most = most
        self._before: dict[Key, Item] = {}
        self._spent = Counter[str]()
        self._lost: dict[tuple[str, int], int] = {}
        self._late: set[tuple[str, int]] = set()
        self._metas: dict[Key, Meta] = {}
        self.admissions: dict[Key, Seen] = {}
        self.costs: dict[tuple[str, int], int] = {}
        self.counted: set[tuple[str, int]] = set()

    def look(self, now: datetime, own: Callable[[tuple[str, int]], bool]) -> None:
        """Hold the table against what must be true.

        Args:
            now: the time.
            own: whether an attempt, by call and number, is made by the worker that wrote.
        """
        changed = {
            key: item for key, item in self._items.items() if self._before.get(key) is not item
        }
        records = {
            key[1].removeprefix("CALL#"): _data(value_of(item, "data"))
            for key, item in changed.items()
            if key[1].startswith("CALL#")
        }
        moved = [key for key in changed if key[1].startswith("ADMISSION#")]
        for key in moved:
            new, old = seen(changed[key]), self.admissions.get(key)
            self.admissions[key] = new
            self._moved(old, new, now)
            renewed = old is not None and old.lease != new.lease and old.attempt == new.attempt
            if renewed and new.state == "calling":
                assert own((new.call, new.attempt)), f"{new.call}: another's lease was renewed"
            self._charged(old, new, records.pop(new.call, None))
        assert not records, f"a record without its admission: {records}"
        for key, item in changed.items():
            if key[1] == "META":
                self._turned(key, item)
        self._before = dict(self._items)
        self._money()
        self._slots()
        self._queues()

    def _moved(self, old: Seen | None, new: Seen, now: datetime) -> None:
        if old is None:
            assert new.state in ("waiting", "granted"), new
            assert new.attempt == 0, new
        else:
            self._changed(old, new, now)
        grown = old is None or old.state != "granted"
        repeated = old is not None and old.state == "calling" and new.attempt > old.attempt
        if (new.state == "granted" and grown) or repeated:
            assert self._going(new.root), f"{new.call} was let in while its run does not go on"
        if new.state == "waiting" and (old is None or old.wait != new.wait):
            self._parked(new)

    def _changed(self, old: Seen, new: Seen, now: datetime) -> None:
        assert (old.state, new.state) in MOVES, f"{new.call}: {old.state} to {new.state}"
        same = old.fingerprint == new.fingerprint
        if old.state == "settled" and new.state != "settled":
            assert not same, f"{new.call}: settled, and asked again"
        assert same or old.state in ENDS, f"{new.call}: another request took the path"
        begun = (old.state, new.state) == ("granted", "calling")
        repeated = (old.state, new.state) == ("calling", "calling") and new.attempt != old.attempt
        assert new.attempt == old.attempt + (begun or repeated), f"{old} {new}"
        if repeated:
            assert new.lost == (*old.lost, old.attempt), f"{new.call}: an attempt was forgotten"
        if set(new.lost) - set(old.lost):
            assert old.lease is not None, new
            over = now >= old.lease
            assert over, f"{new.call}: attempt {old.attempt} was lost under a worker's lease"

    def _turned(self, key: Key, item: Item) -> None:
        new, old = Meta(*(value_of(item, name) for name in META)), self._metas.get(key)
        self._metas[key] = new
        if old is None:
            return
        assert new.redrive >= old.redrive, f"{key}: {old} to {new}"
        if new.redrive == old.redrive and new.status != old.status:
            assert old.status == "RUNNING", f"{key}: ended twice, {old} to {new}"
        if new.paused != old.paused:
            assert new.status == "RUNNING", f"{key}: paused at its end"
        if new.status == "RUNNING" and old.status != "RUNNING":
            assert not old.stopped, f"{key}: stopped, and reopened"
        assert new.stopped or not old.stopped, f"{key}: stopped no more"

    def _parked(self, new: Seen) -> None:
        meta, budget = self._items[self._run(new, "META")], self._items[self._run(new, "BUDGET")]
        if new.wait == "paused":
            assert value_of(meta, "paused"), f"{new.call}: parked in a run that is not paused"
        if new.wait == "money":
            assert value_of(budget, "available") < new.worst, f"{new.call}: its money reaches"

    def _charged(self, old: Seen | None, new: Seen, record: Any) -> None:
        before = () if old is None else old.lost
        for attempt in set(new.lost) - set(before):
            self._lost[new.call, attempt] = new.worst
            self._spent[new.root] += new.worst
            self.counted.add((new.call, attempt))
        for attempt in set(before) - set(new.lost):
            self._spent[new.root] -= self._lost.pop((new.call, attempt))
            if record is None or record["attempt"] != attempt:
                self._spent[new.root] += self.costs[new.call, attempt]
                self._late.add((new.call, attempt))
        settled = new.state == "settled" and (old is None or old.state != "settled")
        assert settled == (record is not None), f"{new.call}: settled without a record, or twice"
        if record is not None:
            late = (new.call, record["attempt"]) in self._late
            self._spent[new.root] += 0 if late else record["cost"]
            self.counted.add((new.call, record["attempt"]))
            if record["attempt"] == new.attempt:
                self._warned(new)

    def _warned(self, settled: Seen) -> None:
        budget = self._items[self._run(settled, "BUDGET")]
        soft = value_of(budget, "ceiling") * SOFT_LIMIT_PERCENT // 100
        if value_of(budget, "spent") > soft:
            assert value_of(budget, "warned"), f"{settled.root}: near its ceiling, and not warned"

    def _money(self) -> None:
        reserved = Counter[str]()
        for admission in self.admissions.values():
            reserved[admission.root] += admission.worst if admission.held else 0
        for (partition, kind), item in self._items.items():
            if kind != "BUDGET":
                continue
            root = partition.removeprefix("RUN#")
            money = {name: value_of(item, name) for name in item if name not in ("PK", "SK")}
            parts = money["available"] + money["reserved"] + money["spent"]
            assert parts == money["ceiling"] + money["over"], f"{root}: {money}"
            assert min(money[each] for each in ("available", "reserved", "spent")) >= 0, money
            assert money["over"] >= 0, money
            assert money["ceiling"] <= self._most, f"{root}: over the account's ceiling"
            assert money["reserved"] == reserved[root], f"{root}: reserved {money} {reserved}"
            assert money["spent"] == self._spent[root], f"{root}: spent {money} {self._spent}"

    def _slots(self) -> None:
        held = Counter[tuple[str, int]]()
        for admission in self.admissions.values():
            if admission.held and admission.slot is not None:
                held[admission.model, admission.slot] += 1
        for (partition, sort), item in self._items.items():
            kind, _, model = partition.partition("#")
            limit = limit_of(self._limits, model)
            if kind == "LIMIT" and sort.startswith("SLOT#"):
                shard = int(sort.removeprefix("SLOT#"))
                count = value_of(item, "held")
                assert count == held.pop((model, shard), 0), f"{model}: slots of {shard}: {count}"
                assert count <= limit.slots(shard), f"{model}: shard {shard} holds {count}"
            if kind == "RATE" and limit.requests is not None:
                assert value_of(item, "requests") <= limit.requests, f"{model}: too many a minute"
            if kind == "RATE" and limit.tokens is not None:
                alone = value_of(item, "requests") == 1
                assert alone or value_of(item, "tokens") <= limit.tokens, f"{model}: tokens"
        assert not held, f"slots held without a count: {held}"

    def _queues(self) -> None:
        tickets = {key for key in self._items if key[0].startswith("QUEUE#")}
        waiting = {each.ticket for each in self.admissions.values() if each.wait == "full"}
        assert tickets == waiting, f"tickets {tickets} for those that wait {waiting}"
        for each in self.admissions.values():
            assert (each.state == "waiting") == (each.wait is not None), each
            assert each.open == (each.state not in ENDS), each
            if limit_of(self._limits, each.model).concurrency is not None and each.held:
                assert each.slot is not None, f"{each.call} has no slot"

    def _going(self, root: str) -> bool:
        meta = self._items[f"RUN#{root}", "META"]
        halted = value_of(meta, "paused") or value_of(meta, "stopped")
        return not halted and value_of(meta, "status") == "RUNNING"

    @staticmethod
    def _run(admission: Seen, kind: str) -> Key:
        return f"RUN#{admission.root}", kind
