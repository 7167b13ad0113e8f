"""One clock drives everything, and it moves only when it is told to."""

from datetime import UTC, datetime
from typing import Any

import pytest

from local.stepfunctions.clock import RealClock
from local.stepfunctions.engine import Engine
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.testing import Execution, StepFunctions
from unit.local.stepfunctions.asl import machine, task, waiting_task

HOUR = 3_600_000


def moments(execution: Execution, kind: str) -> list[int]:
    """When events of a type were recorded, in milliseconds since the start."""
    started = execution.history[0].timestamp
    return [e.timestamp - started for e in execution.history if e.type == kind]


async def test_an_idle_engine_has_let_no_time_pass(sfn: StepFunctions) -> None:
    before = sfn.clock.now()
    definition = machine(Night={"Type": "Wait", "Seconds": 8 * 3600})
    arn = sfn.engine.start_execution(sfn.create(definition))
    await sfn.engine.run_until_idle()
    assert sfn.clock.now() == before
    assert sfn.engine.history(arn)[-1].type == "WaitStateEntered"


async def test_a_day_passes_and_everything_in_it_happens_at_its_moment(sfn: StepFunctions) -> None:
    hours = {"Type": "Wait", "Seconds": 3600, "Next": "Hour"}
    definition = {"QueryLanguage": "JSONata", "StartAt": "Hour", "States": {"Hour": hours}}
    arn = sfn.engine.start_execution(sfn.create(definition))
    before = sfn.clock.now()
    await sfn.engine.advance(hours=24)
    assert sfn.clock.now() == before + 24 * HOUR
    left = [e.timestamp - before for e in sfn.engine.history(arn) if e.type == "WaitStateExited"]
    assert left == [hour * HOUR for hour in range(1, 25)]


async def test_a_callback_comes_at_the_moment_chosen_for_it(sfn: StepFunctions) -> None:
    def ask(event: JsonValue) -> None:
        sfn.later(lambda: sfn.succeed(event["token"], "yes"), hours=3)

    sfn.function("hold", ask)
    after = {"Type": "Pass", "Output": {"said": "{% $states.input %}", "at": "{% $now() %}"}}
    execution = await sfn.start(machine(Approve=waiting_task(TimeoutSeconds=86_400), After=after))
    started = execution.history[0].timestamp
    await sfn.advance(hours=24)
    assert moments(execution, "TaskSucceeded") == [3 * HOUR]
    at = datetime.fromtimestamp((started + 3 * HOUR) / 1000, UTC)
    assert execution.output == {"said": "yes", "at": f"{at:%Y-%m-%dT%H:%M:%S}.000Z"}


async def test_a_callback_a_moment_before_the_timeout_counts_and_one_after_it_does_not(
    sfn: StepFunctions,
) -> None:
    tokens: list[str] = []
    sfn.function("hold", lambda event: tokens.append(event["token"]))
    asl = machine(Approve=waiting_task(TimeoutSeconds=3600))
    in_time, late = await sfn.start(asl), await sfn.start(asl)
    sfn.later(lambda: sfn.succeed(tokens[0], 1), seconds=3599.999)
    await sfn.advance(hours=1)
    assert (in_time.status, late.error) == ("SUCCEEDED", "States.Timeout")


async def test_one_clock_drives_retries_timeouts_and_heartbeats(sfn: StepFunctions) -> None:
    sfn.function("hold", lambda event: event)
    retry = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 5, "MaxAttempts": 1}]
    beating = waiting_task(HeartbeatSeconds=60, TimeoutSeconds=600, Retry=retry)
    execution = await sfn.start(machine(Work=beating))
    silent = await sfn.start(machine(Work=waiting_task(TimeoutSeconds=600, Retry=retry)))
    await sfn.advance(hours=1)
    assert moments(execution, "TaskTimedOut") == [60_000, 125_000]
    assert moments(silent, "TaskTimedOut") == [600_000, 1_205_000]
    assert (execution.error, silent.error) == ("States.HeartbeatTimeout", "States.Timeout")


async def test_the_context_and_now_show_the_moment_of_each_state(sfn: StepFunctions) -> None:
    look = {
        "start": "{% $states.context.Execution.StartTime %}",
        "entered": "{% $states.context.State.EnteredTime %}",
        "now": "{% $now() %}",
        "millis": "{% $millis() %}",
    }
    wait = {"Type": "Wait", "Seconds": 90}
    execution = await sfn.start(machine(Wait=wait, Look={"Type": "Pass", "Output": look}))
    await sfn.advance(minutes=2)
    assert execution.output == {
        "start": "2026-12-01T12:00:00.000Z",
        "entered": "2026-12-01T12:01:30.000Z",
        "now": "2026-12-01T12:01:30.000Z",
        "millis": execution.history[0].timestamp + 90_000,
    }


async def test_real_time_is_not_moved_by_hand() -> None:
    engine = Engine(Integrations(), clock=RealClock())
    with pytest.raises(TypeError, match="VirtualClock"):
        await engine.advance(hours=1)
    await engine.close()


async def test_ids_and_jitter_come_from_the_seed() -> None:
    async def history(seed: int) -> list[Any]:
        sfn = StepFunctions(seed)
        sfn.faults.add((await sfn.possible_faults(ASL))[0])
        execution = await sfn.finish(await sfn.start(ASL))
        return [execution.arn, *[(e.timestamp, e.type, e.details) for e in execution.history]]

    first = await history(1)
    assert first == await history(1)
    assert first != await history(2)


JITTER = {"ErrorEquals": ["States.ALL"], "JitterStrategy": "FULL", "IntervalSeconds": 60}
ASL = machine(Ids={"Type": "Pass", "Assign": {"id": "{% $uuid() %}"}}, Work=task(Retry=[JITTER]))
