"""The stores behind the workers: DynamoDB with faults and S3, watched write by write."""

import asyncio
import json
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from autoops.adapters.expressions import value_of
from integration.aws import declaration
from local.aws import Answer, Moto, moto_services
from local.constants import ACCOUNT, PARTITION, REGION
from local.dynamodb import DynamoDbFront, Fault
from local.gateway import bind, gateway, serving
from prove.gate_worker import BUCKET, MODEL, TABLE

HELD: Final = ("granted", "calling")
ENDED: Final = ("settled", "lost", "released")
WRITES: Final = frozenset({"UpdateItem", "TransactWriteItems", "PutItem"})
Item = Mapping[str, Any]


@dataclass
class FaultyFront(DynamoDbFront):
    """Injects a fault into about one request of so many, drawn from a seeded generator."""

    dice: random.Random = field(default_factory=random.Random)
    one_in: int = 25
    injected: int = 0
    written: Callable[[bytes], None] = lambda _body: None

    def answer(self, headers: Mapping[str, str], body: bytes, run: Callable[[], Answer]) -> Answer:
        """See `DynamoDbFront.answer`; afterwards whoever watches sees what was written."""
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        if self.one_in and self.dice.randrange(self.one_in) == 0:
            self.faults = [self._drawn(operation)]
            self.injected += 1
        answer = super().answer(headers, body, run)
        self.faults = []
        if operation in WRITES:
            self.written(body)
        return answer

    def _drawn(self, operation: str) -> Fault:
        kinds = [Fault("ThrottlingException"), Fault("InternalServerError")]
        if operation in WRITES:
            kinds += [Fault("TransactionConflict", table=TABLE)] * 2
            # It takes effect, and whoever asked for it does not hear of it.
            kinds.append(Fault("InternalServerError", applied=True))
        return self.dice.choice(kinds)


class Stores:
    """The table and the bucket, and what must be true of the table after every write.

    Attributes:
        wrong: sentences about what was not.
    """

    def __init__(self, *, seed: int, concurrency: int, worst: int) -> None:
        self.front = FaultyFront(dice=random.Random(seed), written=self._written)  # noqa: S311  # seeded
        self.moto = Moto(dynamodb=self.front)
        self.wrong: list[str] = []
        self._concurrency, self._worst = concurrency, worst
        self._holding: dict[str, int] = {}
        self._parked: dict[str, int] = {}

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve both from a thread of their own; gives their URL."""
        self.moto.reset()
        names = ("AttributeDefinitions", "KeySchema", "BillingMode", "GlobalSecondaryIndexes")
        declared = declaration(TABLE)
        create = {"TableName": TABLE, **{name: declared[name] for name in names}}
        self.moto.ask("dynamodb", "DynamoDB_20120810.CreateTable", create)
        self.moto.put_object(BUCKET, "", b"")
        bound, up, done = bind(0), threading.Event(), threading.Event()
        urls: list[str] = []

        async def serve() -> None:
            async with serving(gateway(moto_services(self.moto)), bound) as url:
                urls.append(url)
                up.set()
                await asyncio.to_thread(done.wait)

        thread = threading.Thread(target=lambda: asyncio.run(serve()), name="stores")
        thread.start()
        try:
            assert up.wait(30), "the stores do not serve"
            yield urls[0]
        finally:
            done.set()
            thread.join()

    def items(self, partition: str) -> dict[str, Item]:
        """The items of a partition by SK."""
        from moto.dynamodb.models import dynamodb_backends

        table = dynamodb_backends[ACCOUNT][REGION].tables[TABLE]
        for key, items in table.items.items():
            if key.value == partition:
                return {sort.value: one.to_json()["Attributes"] for sort, one in items.items()}
        return {}

    def reply(self, key: str) -> dict[str, Any] | None:
        """The reply that is kept under a key of the bucket."""
        from moto.s3.models import s3_backends

        kept = s3_backends[ACCOUNT][PARTITION].buckets[BUCKET].keys.get(key)
        return None if kept is None else json.loads(kept.value)

    def held(self) -> int:
        """Slots that are held, as the limit's counters say."""
        return sum(
            value_of(item, "held")
            for sort, item in self.items(f"LIMIT#{MODEL}").items()
            if sort.startswith("SLOT#")
        )

    def queued(self) -> int:
        """Tickets in the model's queue."""
        return len(self.items(f"QUEUE#{MODEL}"))

    def _written(self, body: bytes) -> None:
        for partition in set(_partitions(json.loads(body))):
            if partition.startswith("RUN#"):
                self._look_at(partition)
        holding, parked = sum(self._holding.values()), sum(self._parked.values())
        held, queued = self.held(), self.queued()
        self._hold(held == holding, f"{held} slots are held by {holding} calls")
        self._hold(held <= self._concurrency, f"{held} slots of {self._concurrency} are held")
        self._hold(queued == parked, f"{queued} tickets for {parked} calls that wait")

    def _look_at(self, run: str) -> None:
        items = self.items(run)
        calls = [item for sort, item in items.items() if sort.startswith("ADMISSION#")]
        states = [value_of(item, "state") for item in calls]
        self._holding[run] = sum(state in HELD for state in states)
        waits = [value_of(item, "wait") for item in calls if value_of(item, "state") == "waiting"]
        self._parked[run] = waits.count("full")
        for item, state in zip(calls, states, strict=True):
            listed = "open_in" in item
            self._hold(listed == (state not in ENDED), f"{run}: {state}, listed {listed}")
        if "BUDGET" in items:
            self._balance(run, items["BUDGET"])

    def _balance(self, run: str, item: Item) -> None:
        names = ("available", "reserved", "spent", "ceiling", "over")
        available, reserved, spent, ceiling, over = (value_of(item, name) for name in names)
        least = min(available, reserved, spent, over)
        self._hold(available + reserved + spent == ceiling + over, f"{run}: money leaks: {item}")
        self._hold(least >= 0, f"{run}: money below 0: {item}")
        self._hold(spent <= ceiling, f"{run}: spent {spent} of {ceiling}")
        promised = self._holding[run] * self._worst
        self._hold(reserved == promised, f"{run}: {reserved} reserved for {promised}")

    def _hold(self, true: bool, otherwise: str) -> None:  # what must be true
        if not true and len(self.wrong) < 20:
            self.wrong.append(otherwise)


def _partitions(content: Any) -> Iterator[str]:
    """The partitions that a request names."""
    if isinstance(content, list):
        for one in content:
            yield from _partitions(one)
    elif isinstance(content, dict):
        if isinstance(content.get("PK"), dict):
            yield content["PK"]["S"]
        for one in content.values():
            yield from _partitions(one)
