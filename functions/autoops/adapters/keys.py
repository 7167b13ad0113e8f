"""Where each record lies in the ledger table: its PK and SK.

| what | PK | SK |
|---|---|---|
| a run | `RUN#<root>` | META, BUDGET, SLICE#, ADMISSION#<call>, CALL#<call>, STEP#<time> |
| a slice of its money | `RUN#<root>/<name>` | BUDGET, ADMISSION#<call>, CALL#<call> |
| the slots of a model's limit, and whose turn it is | `LIMIT#<model>` | SLOT#<shard>, TURN |
| calls that wait for a slot | `QUEUE#<model>` | `<tenant>#<asked at>#<call>` |
| a model's calls in a minute | `RATE#<model>` | the minute |
"""

import zlib
from datetime import datetime
from typing import Final

from autoops.adapters.expressions import Item

OPEN_PARTITIONS: Final = 8
"""Partitions of the index of open admissions: one alone takes 1,000 writes a second."""


def run_key(root: str, kind: str) -> Item:
    """A record of a run of which there is one."""
    return _key(f"RUN#{root}", kind)


def call_key(root: str, kind: str, call: str) -> Item:
    """A record of one call of a run."""
    return _key(f"RUN#{root}", f"{kind}#{call}")


def slot_key(model: str, shard: int) -> Item:
    """The counter of a shard's held slots."""
    return _key(f"LIMIT#{model}", f"SLOT#{shard}")


def turn_key(model: str) -> Item:
    """The tenant that was served last."""
    return _key(f"LIMIT#{model}", "TURN")


def rate_key(model: str, at: datetime) -> Item:
    """The counter of a minute."""
    return _key(f"RATE#{model}", at.isoformat(timespec="minutes"))


def ticket_key(model: str, place: tuple[str, str]) -> Item:
    """A place in the queue."""
    return _key(f"QUEUE#{model}", "#".join(place))


def shard_of(text: str, shards: int) -> int:
    """One of so many shards, the same for the same text in every process."""
    return zlib.crc32(text.encode()) % shards


def _key(partition: str, sort: str) -> Item:
    return {"PK": {"S": partition}, "SK": {"S": sort}}
