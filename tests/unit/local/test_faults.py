"""Faults strike where they are put, and every place for one can be listed."""

from pathlib import Path
from typing import Any, Final

import pytest

from local.faults import Kind, Moment, first_of_each
from local.stepfunctions.errors import ApiError
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
        self.refused: list[str] = []
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
                self.approve()
            await self.sfn.settle()
        return await self.sfn.finish(execution)

    def approve(self) -> None:
        try:
            self.sfn.succeed(self.tokens[-1], "approved")
        except ApiError as refusal:
            self.refused.append(refusal.code)


# Where a fault strikes at the charge, what it is, how often the charge then has its effect, and
# what the history has of it.
AROUND: Final = [
    ("before", "error", 1, "TaskFailed"),
    ("before", "throttle", 1, "TaskFailed"),
    ("before", "timeout", 1, "TaskTimedOut"),
    ("before", "duplicate", 2, None),
    ("during", "error", 2, "TaskFailed"),
    ("during", "throttle", 2, "TaskFailed"),
    ("during", "timeout", 2, "TaskTimedOut"),
    ("after", "error", 2, "TaskFailed"),
    ("after", "throttle", 2, "TaskFailed"),
    ("after", "timeout", 2, "TaskTimedOut"),
]


@pytest.mark.parametrize(("moment", "kind", "charged", "told"), AROUND)
async def test_a_fault_strikes_around_a_task(
    sfn: StepFunctions, moment: str, kind: str, charged: int, told: str | None
) -> None:
    shop = Shop(sfn)
    sfn.fault("Charge", moment, kind)
    execution = await shop.run()
    assert (execution.status, shop.charged) == ("SUCCEEDED", charged)
    failures = [kind for kind in execution.types if kind in ("TaskFailed", "TaskTimedOut")]
    assert failures == ([] if told is None else [told])


async def test_an_error_bears_its_name_and_a_throttle_lambdas(sfn: StepFunctions) -> None:
    shop = Shop(sfn)
    sfn.fault("Charge", Moment.BEFORE, Kind.ERROR, error="ModelUnavailable")
    sfn.fault("Charge", Moment.AFTER, Kind.THROTTLE, visit=1)
    execution = await shop.run()
    failed = [event.details["error"] for event in execution.history if event.type == "TaskFailed"]
    assert failed == ["ModelUnavailable", "Lambda.TooManyRequestsException"]


@pytest.mark.parametrize("moment", [Moment.BEFORE, Moment.DURING, Moment.AFTER])
@pytest.mark.parametrize("visit", [0, 1])
async def test_an_engine_killed_around_a_task_delivers_it_again(
    durable_sfn: StepFunctions, moment: Moment, visit: int
) -> None:
    shop = Shop(durable_sfn)
    if visit:
        durable_sfn.fault("Charge", Moment.BEFORE, Kind.ERROR)
    durable_sfn.fault("Charge", moment, Kind.CRASH, visit=visit)
    execution = await shop.run()
    assert (execution.status, durable_sfn.crashes) == ("SUCCEEDED", 1)
    assert execution.types.count("TaskScheduled") == 2 + visit
    assert shop.charged == (1 if moment is Moment.BEFORE else 2)


@pytest.mark.parametrize(
    ("kind", "code"), [("error", "Fault.Injected"), ("throttle", "ThrottlingException")]
)
async def test_a_refused_callback_can_be_sent_again(
    sfn: StepFunctions, kind: str, code: str
) -> None:
    shop = Shop(sfn)
    sfn.fault("Approve", Moment.CALLBACK, kind)
    execution = await shop.run()
    assert (execution.output, shop.refused) == ("approved", [code])


async def test_a_doubled_callback_counts_once(sfn: StepFunctions) -> None:
    shop = Shop(sfn)
    sfn.fault("Approve", Moment.CALLBACK, Kind.DOUBLED)
    execution = await shop.run()
    assert (execution.output, len(sfn.faults.struck)) == ("approved", 1)
    assert execution.types.count("TaskSucceeded") == 2


async def test_an_engine_killed_by_a_callback_takes_it_when_it_is_sent_again(
    durable_sfn: StepFunctions,
) -> None:
    shop = Shop(durable_sfn)
    durable_sfn.fault("Approve", Moment.CALLBACK, Kind.CRASH)
    execution = await shop.run()
    assert (execution.output, durable_sfn.crashes) == ("approved", 1)
    assert len(shop.tokens) == 1


def test_a_fault_that_cannot_strike_at_its_moment_is_refused(sfn: StepFunctions) -> None:
    with pytest.raises(ValueError, match="no fault lost"):
        sfn.fault("Charge", Moment.BEFORE, Kind.LOST)


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


async def test_every_fault_of_a_machine_is_listed_for_an_input(sfn: StepFunctions) -> None:
    shop = Shop(sfn)
    question = {"Condition": "{% $states.input.q > 1 %}", "Next": "Charge"}
    choice = {"Type": "Choice", "Choices": [question], "Default": "Approve"}
    charge = task("charge", Next="Approve")
    asl = machine(**{"Charge?": choice, "Charge": charge, "Approve": waiting_task()})
    small = await sfn.possible_faults(asl, {"q": 1})
    assert {fault.point.state for fault in small} == {"Approve"}
    assert len(small) == 13 + 5
    large = await sfn.possible_faults(asl, {"q": 2})
    assert {fault.point.state for fault in large} == {"Charge", "Approve"}
    assert {fault.point.machine for fault in large} == {"machine-1"}
    assert (len(large), shop.charged) == (2 * 13 + 5, 1)


async def test_any_single_fault_is_survived(tmp_path: Path) -> None:
    quiet = StepFunctions(journal=tmp_path / "quiet.db")
    Shop(quiet)
    faults = await quiet.possible_faults(definition(), {"q": 1})
    await quiet.close()
    assert len(faults) == len(first_of_each(faults)) == 2 * 13 + 5
    for number, fault in enumerate(faults):
        sfn = StepFunctions(journal=tmp_path / f"{number}.db")
        sfn.faults.add(fault)
        execution = await Shop(sfn).run()
        assert sfn.faults.struck == [fault]
        assert execution.status == "SUCCEEDED", fault
        await sfn.close()
