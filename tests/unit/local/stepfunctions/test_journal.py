"""What the journal keeps, an engine brings back."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from local.stepfunctions import writer as writing
from local.stepfunctions.api.app import respond
from local.stepfunctions.clock import VirtualClock
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import ApiError
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.journal import Journal
from local.stepfunctions.jsontext import dumps
from local.stepfunctions.states.succeed import Succeed
from local.stepfunctions.testing import Functions
from unit.local.stepfunctions.asl import machine, program, task, waiting_task


class Laptop:
    """An engine with a journal that can be killed and started again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = VirtualClock()
        self.functions = Functions()
        self.tokens: list[str] = []
        self.functions.add("work", lambda event: event)
        self.functions.add("hold", lambda event: self.tokens.append(event["token"]))
        self.engine = self._engine()

    def _engine(self) -> Engine:
        tasks = Integrations(self.functions)
        self.journal = Journal(self.path)
        return Engine(tasks, clock=self.clock, seed=1, journal=self.journal)

    async def close(self) -> None:
        """Leave the file as it is."""
        await self.engine.close()
        self.journal.close()

    async def crash(self) -> None:
        """Kill the engine without warning and start another on the same file."""
        await self.close()
        self.engine = self._engine()
        self.engine.resume()
        await self.engine.run_until_idle()

    def start(self, definition: dict[str, Any], name: str) -> str:
        arn = self.engine.create_state_machine(name=name, definition=dumps(definition))
        return self.engine.start_execution(arn, '{"q":1}', name)


@pytest.fixture
async def laptop(tmp_path: Path) -> AsyncIterator[Laptop]:
    made = Laptop(tmp_path / "journal.db")
    yield made
    await made.close()


async def test_a_wait_goes_on_where_it_was(laptop: Laptop) -> None:
    arn = laptop.start(machine(Night={"Type": "Wait", "Seconds": 3600}), "wait")
    await laptop.engine.advance(minutes=30)
    await laptop.crash()
    assert laptop.engine.describe_execution(arn)["status"] == "RUNNING"
    await laptop.engine.advance(minutes=30)
    described = laptop.engine.describe_execution(arn)
    assert described["status"] == "SUCCEEDED"
    assert described["stopDate"] - described["startDate"] == 3600


async def test_a_token_given_out_before_the_crash_is_accepted_after_it(laptop: Laptop) -> None:
    arn = laptop.start(machine(Hold=waiting_task(HeartbeatSeconds=100)), "hold")
    await laptop.engine.run_until_idle()
    await laptop.crash()
    assert len(laptop.tokens) == 1
    laptop.engine.send_task_success(laptop.tokens[0], "7")
    assert laptop.engine.describe_execution(arn)["output"] == "7"
    await laptop.crash()
    with pytest.raises(ApiError) as refused:
        laptop.engine.send_task_success(laptop.tokens[0], "8")
    assert refused.value.code == "TaskTimedOut"


async def test_histories_are_the_same_before_and_after(laptop: Laptop) -> None:
    each = task(Assign={"id": "{% $uuid() %}"})
    items = {"Type": "Map", "Items": [1, 2, 3], "ItemProcessor": program(Each=each)}
    arn = laptop.start(machine(Work=task(), All=items), "map")
    await laptop.engine.run_until_idle()
    before = laptop.engine.get_execution_history(arn)
    calls = len(laptop.functions.calls)
    await laptop.crash()
    assert laptop.engine.get_execution_history(arn) == before
    assert len(laptop.functions.calls) == calls


async def test_a_parent_goes_on_waiting_for_the_same_child(laptop: Laptop) -> None:
    definition = dumps(machine(Hold=waiting_task()))
    child = laptop.engine.create_state_machine(name="child", definition=definition)
    state = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Arguments": {"StateMachineArn": child},
    }
    arn = laptop.start(machine(Ask=state), "parent")
    await laptop.engine.run_until_idle()
    await laptop.crash()
    laptop.engine.send_task_success(laptop.tokens[0], '"done"')
    await laptop.engine.run_until_idle()
    assert laptop.engine.run(arn).status == "SUCCEEDED"
    children = laptop.engine.summaries(laptop.engine.machines.get(child))
    assert [shape["status"] for shape in children] == ["SUCCEEDED"]
    types = [event.type for event in laptop.engine.history(arn)]
    assert types.count("TaskSubmitted") == 1


async def test_machines_versions_and_aliases_come_back(laptop: Laptop) -> None:
    definition = dumps(machine(Only={"Type": "Succeed"}))
    arn = laptop.engine.create_state_machine(name="m", definition=definition)
    version = laptop.engine.publish_version(arn)
    laptop.engine.activities.create("desk")
    await laptop.engine.durable()
    laptop.engine.start_execution(version, "{}", "one")
    await laptop.engine.run_until_idle()
    await laptop.crash()
    assert laptop.engine.machines.target(version).version_arn == version
    assert laptop.engine.activities.get(laptop.engine.names.activity("desk")).name == "desk"


async def test_an_ended_execution_is_redriven_after_a_crash(laptop: Laptop) -> None:
    down = ["down"]

    def work(event: Any) -> Any:
        if down:
            raise ConnectionError("down")
        return event

    laptop.functions.add("work", work)
    arn = laptop.start(machine(Work=task()), "redrive")
    await laptop.engine.run_until_idle()
    await laptop.crash()
    down.clear()
    laptop.engine.redrive_execution(arn)
    await laptop.crash()
    described = laptop.engine.describe_execution(arn)
    assert (described["status"], described["redriveCount"]) == ("SUCCEEDED", 1)


async def test_ended_executions_leave_memory_and_stay_in_the_list(laptop: Laptop) -> None:
    arn = laptop.start(machine(Only={"Type": "Succeed"}), "short")
    await laptop.engine.run_until_idle()
    shapes = laptop.engine.summaries(
        laptop.engine.machines.get(laptop.engine.names.machine("short"))
    )
    assert [shape["executionArn"] for shape in shapes] == [arn]
    with pytest.raises(ApiError) as refused:
        laptop.engine.start_execution(laptop.engine.names.machine("short"), '{"q":1}', "short")
    assert refused.value.code == "ExecutionAlreadyExists"


async def test_a_map_run_goes_on_without_repeating_its_ended_children(laptop: Laptop) -> None:
    state = {
        "Type": "Map",
        "Items": [1, 2],
        "MaxConcurrency": 1,
        "ItemProcessor": {
            **program(Work=task(), Hold=waiting_task()),
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        },
    }
    arn = laptop.start(machine(All=state), "maps")
    await laptop.engine.run_until_idle()
    laptop.engine.send_task_success(laptop.tokens[0], '"first"')
    await laptop.engine.run_until_idle()
    await laptop.crash()
    laptop.engine.send_task_success(laptop.tokens[1], '"second"')
    await laptop.engine.run_until_idle()
    assert laptop.engine.describe_execution(arn)["output"] == '["first","second"]'
    worked = [event for name, event in laptop.functions.calls if name == "work"]
    assert worked == [1, 2]


async def test_an_activity_task_waits_for_its_worker_across_a_crash(laptop: Laptop) -> None:
    engine = laptop.engine
    desk = engine.activities.create("desk").arn
    arn = laptop.start(machine(Ask={"Type": "Task", "Resource": desk}), "desk")
    await engine.run_until_idle()
    await laptop.crash()
    command = laptop.engine.activities.take(laptop.engine, desk, "ann")
    assert command is not None
    await laptop.crash()
    assert laptop.engine.activities.take(laptop.engine, desk, "bob") is None
    laptop.engine.send_task_success(command.token or "", '"done"')
    assert laptop.engine.describe_execution(arn)["output"] == '"done"'


async def test_a_journal_that_cannot_be_written_stops_the_engine(laptop: Laptop) -> None:
    laptop.start(machine(Night={"Type": "Wait", "Seconds": 60}), "night")
    laptop.engine.driver.kill()
    with pytest.raises(RuntimeError, match="stopped"):
        await laptop.engine.durable()
    await laptop.crash()
    assert laptop.engine.driver.dead is False


@pytest.mark.parametrize("quick", [3600.0, 0.0], ids=["on the loop", "beside the loop"])
async def test_a_full_disk_stops_the_engine_before_anything_is_done_or_answered(
    laptop: Laptop, quick: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_QUICK_SECONDS", quick)
    before = laptop.start(machine(Night={"Type": "Wait", "Seconds": 60}, Work=task()), "night")
    await laptop.engine.run_until_idle()

    def full() -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(laptop.journal, "commit", full)
    after = laptop.start(machine(Work=task()), "work")
    await laptop.engine.run_until_idle()
    assert laptop.engine.driver.dead
    assert laptop.functions.calls == []
    for arn in (before, after, f"{after}-unknown"):
        body = dumps({"executionArn": arn}).encode()
        status, answer = await respond(laptop.engine, "DescribeExecution", body)
        assert (status, answer["__type"]) == (500, "InternalServerError")
    await laptop.crash()
    assert laptop.engine.find(after) is None
    await laptop.engine.advance(minutes=1)
    assert laptop.engine.describe_execution(before)["status"] == "SUCCEEDED"


async def test_an_execution_that_breaks_the_engine_fails_alone_and_stays_failed(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(Succeed, "enter", broken)
    arn = laptop.start(machine(Work=task(), Only={"Type": "Succeed"}), "bad")
    other = laptop.start(machine(Work=task()), "good")
    await laptop.engine.run_until_idle()
    assert laptop.engine.describe_execution(other)["status"] == "SUCCEEDED"
    before = laptop.engine.get_execution_history(arn)
    assert before[-1]["executionFailedEventDetails"] == {
        "error": "States.Runtime",
        "cause": "ZeroDivisionError: a defect",
    }
    await laptop.crash()
    assert laptop.engine.get_execution_history(arn) == before


async def test_a_journal_of_the_older_format_goes_on_in_order(laptop: Laptop) -> None:
    """What happened was once kept in a table without row ids, sorted by its key."""
    each = task(Assign={"id": "{% $uuid() %}"})
    items = {"Type": "Map", "Items": [1, 2, 3], "ItemProcessor": program(Each=each)}
    ended = laptop.start(machine(Work=task(), All=items), "map")
    arn = laptop.start(machine(Hold=waiting_task(), Work=task()), "hold")
    await laptop.engine.run_until_idle()
    before = [laptop.engine.get_execution_history(name) for name in (ended, arn)]
    await laptop.close()
    _as_written_before(laptop.path)
    await laptop.crash()
    assert [laptop.engine.get_execution_history(name) for name in (ended, arn)] == before
    laptop.engine.send_task_success(laptop.tokens[0], "7")
    await laptop.engine.run_until_idle()
    await laptop.crash()
    assert laptop.engine.describe_execution(arn)["status"] == "SUCCEEDED"


def _as_written_before(path: Path) -> None:
    db = sqlite3.connect(path)
    db.executescript("""
        ALTER TABLE happening RENAME TO newer;
        CREATE TABLE happening (
            execution INTEGER, number INTEGER, at INTEGER, kind INTEGER, task INTEGER,
            text TEXT, more TEXT, PRIMARY KEY (execution, number)
        ) WITHOUT ROWID;
        INSERT INTO happening SELECT * FROM newer ORDER BY number DESC;
        DROP TABLE newer;
    """)
    db.close()


async def test_an_execution_is_kept_together_with_its_start_or_not_at_all(laptop: Laptop) -> None:
    definition = dumps(machine(Only={"Type": "Succeed"}))
    arn = laptop.engine.create_state_machine(name="many", definition=definition)
    for number in range(100):
        laptop.engine.start_execution(arn, "{}", f"run-{number}")
    laptop.engine.driver.pump()
    laptop.engine.driver.kill()
    await laptop.crash()
    kept = laptop.engine.summaries(laptop.engine.machines.get(arn))
    assert len(kept) < 100
    assert {shape["status"] for shape in kept} <= {"SUCCEEDED"}
