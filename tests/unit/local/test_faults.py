"""Faults strike where they are put, and every place for one can be listed."""

from pathlib import Path
from typing import Any

import pytest

from local.faults import Fault, Kind, Moment, first_of_each
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.testing import Execution, StepFunctions
from unit.local.stepfunctions.asl import machine, task, waiting_task

RETRY = [{"ErrorEquals": ["States.TaskFailed", "States.Timeout"], "MaxAttempts": 2}]


def definition() -> dict[str, Any]:
    """A task with an effect, then one that waits for its token."""
    charge = task("charge", TimeoutSeconds=60, Retry=RETRY)
    approve = waiting_task(TimeoutSeconds=3600, Retry=RETRY)
    return machine(Charge=charge, Approve=approve)


class Shop:
    """Functions with an effect that counts, and a token that is answered again until it holds."""

    def __init__(self, sfn: StepFunctions) -> None:
        self.sfn = sfn
        self.charged = 0
        self.tokens: list[str] = []
        sfn.function("charge", self.charge)
        sfn.function("hold", lambda event: self.tokens.append(event["token"]))

    def charge(self, event: JsonValue) -> JsonValue:
        self.charged += 1
        return event

    async def run(self) -> Execution:
        execution = await self.sfn.start(definition(), {"q": 1})
        for _ in range(20):
            await self.sfn.advance(minutes=10)
            if execution.status == "RUNNING" and self.tokens:
                self.sfn.succeed(self.tokens[-1], "approved")
            await self.sfn.settle()
        return await self.sfn.finish(execution)


async def test_an_error_before_a_task_keeps_its_effect_away(sfn: StepFunctions) -> None:
    shop = Shop(sfn)
    sfn.fault("Charge", Moment.BEFORE, Kind.ERROR, error="ModelUnavailable")
    execution = await shop.run()
    assert (execution.status, shop.charged) == ("SUCCEEDED", 1)
    failed = next(event for event in execution.history if event.type == "TaskFailed")
    assert failed.details["error"] == "ModelUnavailable"


async def test_an_error_after_a_task_leaves_its_effect(sfn: StepFunctions) -> None:
    shop = Shop(sfn)
    sfn.fault("Charge", Moment.AFTER, Kind.ERROR)
    execution = await shop.run()
    assert (execution.status, shop.charged) == ("SUCCEEDED", 2)


async def test_a_task_that_never_returns_runs_into_its_timeout(sfn: StepFunctions) -> None:
    shop = Shop(sfn)
    sfn.fault("Charge", Moment.BEFORE, Kind.TIMEOUT)
    execution = await shop.run()
    assert execution.status == "SUCCEEDED"
    assert execution.types.count("TaskTimedOut") == 1


async def test_a_duplicate_delivery_has_its_effect_twice(sfn: StepFunctions) -> None:
    shop = Shop(sfn)
    sfn.fault("Charge", Moment.BEFORE, Kind.DUPLICATE)
    execution = await shop.run()
    assert (execution.status, shop.charged) == ("SUCCEEDED", 2)


@pytest.mark.parametrize("moment", [Moment.BEFORE, Moment.DURING, Moment.AFTER])
async def test_an_engine_killed_around_a_task_delivers_it_again(
    durable_sfn: StepFunctions, moment: Moment
) -> None:
    shop = Shop(durable_sfn)
    durable_sfn.fault("Charge", moment, Kind.CRASH)
    execution = await shop.run()
    assert (execution.status, durable_sfn.crashes) == ("SUCCEEDED", 1)
    assert execution.types.count("TaskScheduled") == 2


async def test_a_lost_callback_can_be_sent_again(sfn: StepFunctions) -> None:
    shop = Shop(sfn)
    sfn.fault("Approve", Moment.CALLBACK, Kind.LOST)
    execution = await shop.run()
    assert execution.output == "approved"


async def test_every_point_of_a_run_is_listed(sfn: StepFunctions) -> None:
    await Shop(sfn).run()
    told = [(point.state, str(point.moment)) for point in sfn.faults.points()]
    around = ["before", "during", "after"]
    assert told == [
        *[("Charge", moment) for moment in around],
        ("Approve", "callback"),
        *[("Approve", moment) for moment in around],
    ]


async def test_any_single_fault_is_survived(tmp_path: Path) -> None:
    quiet = StepFunctions(journal=tmp_path / "quiet.db")
    await Shop(quiet).run()
    await quiet.close()
    faults = first_of_each(quiet.faults.possible())
    assert len(faults) == 2 * 11 + 3
    for number, fault in enumerate(faults):
        sfn = StepFunctions(journal=tmp_path / f"{number}.db")
        sfn.faults.add(Fault(fault.point, fault.kind))
        execution = await Shop(sfn).run()
        assert sfn.faults.struck == [fault]
        assert execution.status == "SUCCEEDED", fault
        await sfn.close()
