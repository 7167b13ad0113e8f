"""Executions that ended long ago leave the journal; what runs, and what it needs, stays."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local.stepfunctions.errors import ApiError
from local.stepfunctions.retention import DAY, forget_ended
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import distributed, machine, program


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where `durable_sfn` has its journal."""
    return tmp_path / "journal.db"


async def clean(sfn: StepFunctions, path: Path, days: int) -> int:
    """Forget what ended more than so many days ago, and start the engine again."""
    forgotten = forget_ended(path, sfn.clock.now() - days * DAY)
    await sfn.crash()
    return forgotten


def rows(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608


async def test_what_ended_long_ago_is_forgotten_and_its_name_is_free(
    durable_sfn: StepFunctions, path: Path
) -> None:
    sfn = durable_sfn
    arn = sfn.create(machine(Only={"Type": "Pass"}))
    old = await sfn.start(arn, name="one")
    await sfn.advance(days=60)
    young = await sfn.start(arn, name="two")
    await sfn.advance(days=60)
    assert await clean(sfn, path, 90) == 1
    with pytest.raises(ApiError):
        sfn.engine.run(old.arn)
    assert young.status == "SUCCEEDED"
    summaries = sfn.engine.summaries(sfn.engine.machines.get(arn))
    assert [summary["name"] for summary in summaries] == ["two"]
    assert (await sfn.start(arn, name="one")).status == "SUCCEEDED"


async def test_what_runs_stays_however_old_it_is(durable_sfn: StepFunctions, path: Path) -> None:
    sfn = durable_sfn
    waits = await sfn.start(machine(Wait={"Type": "Wait", "Seconds": 200 * 86_400}))
    await sfn.advance(days=150)
    assert await clean(sfn, path, 90) == 0
    await sfn.advance(days=50)
    assert waits.status == "SUCCEEDED"


async def test_the_children_of_a_map_run_stay_as_long_as_it_runs(
    durable_sfn: StepFunctions, path: Path
) -> None:
    sfn = durable_sfn
    wait = {"Type": "Wait", "Seconds": "{% $states.input * 86400 %}"}
    state = distributed(Items=[1, 150], ItemProcessor=program(Wait=wait))
    execution = await sfn.start(machine(All=state))
    await sfn.advance(days=140)
    assert await clean(sfn, path, 90) == 0
    await sfn.advance(days=10)
    assert execution.output == [1, 150]
    await sfn.advance(days=100)
    assert await clean(sfn, path, 90) == 3
    assert list(sfn.engine.map_runs) == []


async def test_a_journal_that_is_cleaned_does_not_grow_for_ever(
    durable_sfn: StepFunctions, path: Path
) -> None:
    sfn = durable_sfn
    arn = sfn.create(machine(Only={"Type": "Pass"}))
    sizes = []
    for _ in range(4):
        for _ in range(50):
            await sfn.start(arn, {"text": "x" * 2_000})
        await sfn.advance(days=91)
        await clean(sfn, path, 90)
        sizes.append(path.stat().st_size)
        assert [rows(path, table) for table in ("execution", "happening", "definition")] == [0] * 3
    assert sizes[-1] <= 1.1 * sizes[1]


async def test_without_a_file_nothing_is_forgotten(tmp_path: Path) -> None:
    assert forget_ended(tmp_path / "none.db", 1) == 0
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "empty.db").touch()
    assert forget_ended(tmp_path / "empty.db", 1) == 0
