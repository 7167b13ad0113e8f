"""What is acted upon is on disk, however fast the disk is."""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from local.stepfunctions import writer as writing
from local.stepfunctions.commands import Incoming, TimerFired
from local.stepfunctions.journal import Journal, Transaction
from local.stepfunctions.writer import Writer


class SlowJournal(Journal):
    """A disk that takes so many seconds for each commit."""

    seconds = 0.0
    commits = 0
    checkpoints = 0

    def commit(self) -> None:
        time.sleep(self.seconds)
        super().commit()
        self.commits += 1

    def checkpoint(self) -> None:
        super().checkpoint()
        self.checkpoints += 1


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SlowJournal]:
    made = SlowJournal(tmp_path / "journal.db")
    yield made
    made.close()


@pytest.fixture
async def writer(journal: SlowJournal) -> AsyncIterator[Writer]:
    made = Writer(journal, lambda: pytest.fail("the journal cannot be written"))
    yield made
    made.close()


def turn(number: int, happenings: int = 1) -> Transaction:
    rows: list[tuple[int, int, int, Incoming]] = [
        (number, row, 0, TimerFired(row)) for row in range(1, happenings + 1)
    ]
    return Transaction([], rows, [], {})


async def settled(writer: Writer) -> None:
    async with asyncio.timeout(30):
        while writer.busy:
            await asyncio.sleep(0)


async def kept_in_order(journal: Journal, writer: Writer, turns: int) -> list[int]:
    seen: list[int] = []

    def written(number: int) -> None:
        assert journal.happenings(number), "acted upon before it was on disk"
        seen.append(number)

    for number in range(1, turns + 1):
        writer.add(turn(number), partial(written, number))
        if number % 3 == 0:
            await asyncio.sleep(0)
    await settled(writer)
    return seen


async def test_a_quick_disk_is_written_at_once(
    journal: SlowJournal, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_QUICK_SECONDS", 3600.0)
    assert await kept_in_order(journal, writer, 30) == list(range(1, 31))
    seen: list[str] = []
    writer.add(turn(31), lambda: seen.append("written"))
    assert seen == ["written"]


async def test_on_a_slow_disk_what_waits_shares_a_commit(
    journal: SlowJournal, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_QUICK_SECONDS", 0.0)
    journal.seconds = 0.005
    assert await kept_in_order(journal, writer, 30) == list(range(1, 31))
    assert journal.commits < 30


async def test_a_turn_written_from_within_another_comes_after_it(
    journal: SlowJournal, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_QUICK_SECONDS", 3600.0)
    await kept_in_order(journal, writer, 1)
    seen: list[str] = []

    def first() -> None:
        writer.add(turn(3), lambda: seen.append("second"))
        seen.append("first")

    writer.add(turn(2), first)
    assert seen == ["first", "second"]


async def test_the_log_is_moved_to_the_file_beside_the_loop(
    journal: SlowJournal, writer: Writer
) -> None:
    writer.add(turn(1, happenings=1_000), lambda: None)
    await settled(writer)
    writer.add(turn(2), lambda: None)
    await settled(writer)
    assert journal.checkpoints == 1
    assert not journal.full
