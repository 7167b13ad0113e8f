"""Retry and Catch."""

from hypothesis import given
from hypothesis import strategies as st

from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.retries import Retrier, matches
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import machine, task


class ModelThrottled(Exception):  # noqa: N818 - a name that a machine matches
    pass


class InvalidInput(Exception):  # noqa: N818 - a name that a machine matches
    pass


def raising(*errors: type[Exception] | None) -> JsonValue:
    """A handler that raises these in turn and then returns its event."""
    left = list(errors)

    def handler(event: JsonValue) -> JsonValue:
        error = left.pop(0) if left else None
        if error is not None:
            raise error("boom")
        return event

    return handler


async def test_delays_grow_by_the_rate_up_to_the_longest(sfn: StepFunctions) -> None:
    sfn.function("work", raising(*[ModelThrottled] * 4))
    retry = {
        "ErrorEquals": ["ModelThrottled"],
        "IntervalSeconds": 2,
        "BackoffRate": 3,
        "MaxAttempts": 4,
        "MaxDelaySeconds": 20,
    }
    execution = await sfn.start(machine(Work=task(Retry=[retry])))
    started = execution.history[0].timestamp
    await sfn.finish(execution)
    scheduled = [e.timestamp - started for e in execution.history if e.type == "TaskScheduled"]
    assert scheduled == [0, 2_000, 8_000, 26_000, 46_000]
    assert execution.status == "SUCCEEDED"


async def test_each_retrier_counts_its_own_attempts(sfn: StepFunctions) -> None:
    sfn.function("work", raising(ModelThrottled, InvalidInput, ModelThrottled, InvalidInput))
    retry = [
        {"ErrorEquals": ["ModelThrottled"], "MaxAttempts": 2},
        {"ErrorEquals": ["InvalidInput"], "MaxAttempts": 1},
    ]
    execution = await sfn.finish(await sfn.start(machine(Work=task(Retry=retry))))
    assert execution.error == "InvalidInput"
    assert execution.types.count("TaskFailed") == 4


async def test_the_attempt_number_is_in_the_context_of_each_retry(sfn: StepFunctions) -> None:
    sfn.function("work", raising(ModelThrottled, ModelThrottled))
    payload = "{% $states.context.State.RetryCount %}"
    state = task(Arguments={"Payload": payload}, Retry=[{"ErrorEquals": ["States.ALL"]}])
    execution = await sfn.finish(await sfn.start(machine(Work=state)))
    assert [event for _, event in sfn.functions.calls] == [0, 1, 2]
    assert execution.output == 2


async def test_full_jitter_draws_below_the_delay_and_repeats_by_seed() -> None:
    async def delays(seed: int) -> list[int]:
        sfn = StepFunctions(seed)
        sfn.function("work", raising(*[ModelThrottled] * 3))
        retry = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 100, "JitterStrategy": "FULL"}
        execution = await sfn.start(machine(Work=task(Retry=[retry])))
        await sfn.finish(execution)
        return [e.timestamp for e in execution.history if e.type == "TaskScheduled"]

    first, again, other = await delays(1), await delays(1), await delays(2)
    assert first == again
    assert first != other
    longest = [100_000, 200_000, 400_000]
    assert all(
        0 <= b - a <= most for a, b, most in zip(first[:-1], first[1:], longest, strict=True)
    )


@given(
    interval=st.integers(1, 1000),
    rate=st.floats(1, 10),
    longest=st.integers(1, 10_000),
    attempt=st.integers(0, 500),
)
def test_a_delay_never_passes_the_longest(
    interval: int, rate: float, longest: int, attempt: int
) -> None:
    retrier = Retrier(frozenset(), interval, 99, rate, longest, jitter=False)
    assert 0 < retrier.delay(attempt, None) <= longest


async def test_catch_sets_variables_and_output_from_the_error(sfn: StepFunctions) -> None:
    sfn.function("work", raising(InvalidInput))
    catch = {
        "ErrorEquals": ["InvalidInput"],
        "Assign": {"why": "{% $states.errorOutput.Error %}"},
        "Output": {"was": "{% $states.input.question %}"},
        "Next": "After",
    }
    after = {"Type": "Pass", "Output": {"why": "{% $why %}", "was": "{% $states.input.was %}"}}
    state = task(Catch=[catch], Next="After")
    execution = await sfn.start(machine(Work=state, After=after), {"question": "q"})
    assert execution.output == {"why": "InvalidInput", "was": "q"}


async def test_an_error_that_nobody_matches_ends_the_execution_under_its_name(
    sfn: StepFunctions,
) -> None:
    sfn.function("work", raising(InvalidInput))
    retry = [{"ErrorEquals": ["ModelThrottled"]}]
    execution = await sfn.start(machine(Work=task(Retry=retry)))
    assert (execution.status, execution.error) == ("FAILED", "InvalidInput")
    assert '"errorMessage":"boom"' in (execution.cause or "")


async def test_a_failed_expression_is_caught_by_its_name(sfn: StepFunctions) -> None:
    sfn.function("work", lambda event: event)
    catch = {"ErrorEquals": ["States.QueryEvaluationError"], "Next": "After"}
    state = task(Output="{% $nothing %}", Catch=[catch], Next="After")
    execution = await sfn.start(machine(Work=state, After={"Type": "Succeed"}))
    assert execution.status == "SUCCEEDED"
    assert execution.output["Error"] == "States.QueryEvaluationError"


def test_all_takes_everything_but_runtime_and_the_data_limit() -> None:
    everything = frozenset({"States.ALL"})
    assert matches(everything, "Anything")
    assert matches(everything, None)
    assert not matches(everything, "States.Runtime")
    assert not matches(everything, "States.DataLimitExceeded")
    assert matches(frozenset({"States.DataLimitExceeded"}), "States.DataLimitExceeded")
    assert not matches(frozenset({"States.Runtime"}), "States.Runtime")


def test_task_failed_takes_all_but_timeouts() -> None:
    failed = frozenset({"States.TaskFailed"})
    assert matches(failed, "ModelThrottled")
    assert not matches(failed, "States.Timeout")
    assert not matches(failed, "States.HeartbeatTimeout")


def test_a_missed_heartbeat_is_a_timeout_too() -> None:
    assert matches(frozenset({"States.Timeout"}), "States.HeartbeatTimeout")
    assert not matches(frozenset({"States.HeartbeatTimeout"}), "States.Timeout")
