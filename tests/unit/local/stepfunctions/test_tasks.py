"""Task: tokens, time limits, heartbeats, limits on size."""

from typing import TYPE_CHECKING

import pytest

from local.constants import PAYLOAD_BYTES
from local.stepfunctions.errors import ApiError
from local.stepfunctions.jsontext import JsonValue, dumps
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import machine, program, task, waiting_task

if TYPE_CHECKING:
    from collections.abc import Callable


async def hold(sfn: StepFunctions, **fields: JsonValue) -> JsonValue:
    """Start an execution that waits for its token; returns it and the token."""
    tokens: list[str] = []
    sfn.function("hold", lambda event: tokens.append(event["token"]))
    execution = await sfn.start(machine(Approve=waiting_task(**fields)))
    return execution, tokens


async def test_a_token_brings_the_result(sfn: StepFunctions) -> None:
    execution, tokens = await hold(sfn)
    assert execution.status == "RUNNING"
    assert execution.types[-1] == "TaskSubmitted"
    sfn.engine.send_task_success(tokens[0], '{"approved":true}')
    assert execution.output == {"approved": True}


async def test_a_token_is_accepted_once(sfn: StepFunctions) -> None:
    _, tokens = await hold(sfn)
    sfn.engine.send_task_success(tokens[0], "1")
    with pytest.raises(ApiError) as refused:
        sfn.engine.send_task_failure(tokens[0], "No", "too late")
    assert refused.value.code == "TaskTimedOut"


async def test_a_token_that_comes_after_the_timeout_is_refused(sfn: StepFunctions) -> None:
    execution, tokens = await hold(sfn, TimeoutSeconds=60)
    await sfn.advance(seconds=61)
    assert execution.error == "States.Timeout"
    assert not sfn.engine.driver.tokens
    with pytest.raises(ApiError) as refused:
        sfn.engine.send_task_success(tokens[0], "1")
    assert refused.value.code == "TaskTimedOut"


async def test_a_token_nobody_gave_out_is_invalid(sfn: StepFunctions) -> None:
    with pytest.raises(ApiError) as refused:
        sfn.engine.send_task_success("AAAA", "1")
    assert refused.value.code == "InvalidToken"


async def test_a_token_answered_inside_its_own_invocation_is_accepted(sfn: StepFunctions) -> None:
    def answer(event: dict[str, str]) -> str:
        sfn.engine.send_task_success(event["token"], '"granted"')
        return "the invocation's own result counts for nothing"

    sfn.function("hold", answer)
    execution = await sfn.start(machine(Admit=waiting_task()))
    assert execution.output == "granted"
    assert "TaskSubmitted" not in execution.types


async def test_a_failure_by_token_bears_its_error_and_cause(sfn: StepFunctions) -> None:
    execution, tokens = await hold(sfn)
    sfn.engine.send_task_failure(tokens[0], "ApprovalRejected", "not today")
    assert (execution.error, execution.cause) == ("ApprovalRejected", "not today")


async def test_a_function_that_fails_before_the_token_is_answered_fails_the_task(
    sfn: StepFunctions,
) -> None:
    def refuse(_: dict[str, str]) -> None:
        raise ConnectionError("down")

    sfn.function("hold", refuse)
    execution = await sfn.start(machine(Admit=waiting_task()))
    assert execution.error == "ConnectionError"


async def test_heartbeats_keep_a_task_alive_and_their_absence_ends_it(sfn: StepFunctions) -> None:
    execution, tokens = await hold(sfn, HeartbeatSeconds=10, TimeoutSeconds=1000)
    for _ in range(5):
        await sfn.advance(seconds=9)
        sfn.engine.send_task_heartbeat(tokens[0])
    assert execution.status == "RUNNING"
    await sfn.advance(seconds=11)
    assert execution.error == "States.HeartbeatTimeout"


async def test_a_tokens_limits_may_be_expressions(sfn: StepFunctions) -> None:
    limits = {
        "TimeoutSeconds": "{% $limit * 10 %}",
        "HeartbeatSeconds": "{% $states.input.beat %}",
    }
    sfn.function("hold", lambda event: event)
    before = {"Type": "Pass", "Assign": {"limit": 6}}
    definition = machine(Before=before, Approve=waiting_task(**limits))
    beats = await sfn.start(definition, {"beat": 20})
    late = await sfn.start(definition, {"beat": 59})
    await sfn.advance(seconds=60)
    assert beats.error == "States.HeartbeatTimeout"
    assert beats.history[-1].timestamp - beats.history[0].timestamp == 20_000
    assert late.error == "States.HeartbeatTimeout"
    scheduled = next(e for e in late.history if e.type == "TaskScheduled")
    assert scheduled.details["timeoutInSeconds"] == 60
    assert scheduled.details["heartbeatInSeconds"] == 59


@pytest.mark.parametrize("seconds", ["{% 'soon' %}", "{% 0 %}", "{% 1.5 %}"])
async def test_a_limit_that_is_no_number_of_seconds_fails_the_state(
    sfn: StepFunctions, seconds: str
) -> None:
    execution, tokens = await hold(sfn, TimeoutSeconds=seconds)
    assert (execution.error, tokens) == ("States.QueryEvaluationError", [])


async def test_a_token_is_worth_nothing_once_the_state_was_left(sfn: StepFunctions) -> None:
    tokens: list[str] = []
    sfn.function("hold", lambda event: tokens.append(event["token"]))
    catch = [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}]
    approve = waiting_task(TimeoutSeconds=60, Catch=catch, Next="Late")
    late = {"Type": "Wait", "Seconds": 600}
    execution = await sfn.start(machine(Approve=approve, Late=late))
    await sfn.advance(seconds=61)
    assert execution.status == "RUNNING"
    engine = sfn.engine
    answers: list[Callable[[], None]] = [
        lambda: engine.send_task_success(tokens[0], "1"),
        lambda: engine.send_task_failure(tokens[0], "X"),
        lambda: engine.send_task_heartbeat(tokens[0]),
    ]
    for answer in answers:
        with pytest.raises(ApiError) as refused:
            answer()
        assert refused.value.code == "TaskTimedOut"


async def test_the_token_of_an_attempt_that_was_retried_is_worth_nothing(
    sfn: StepFunctions,
) -> None:
    retry = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1}]
    execution, tokens = await hold(sfn, TimeoutSeconds=60, Retry=retry)
    await sfn.advance(seconds=61)
    with pytest.raises(ApiError) as refused:
        sfn.succeed(tokens[0], "first")
    assert refused.value.code == "TaskTimedOut"
    sfn.succeed(tokens[1], "second")
    assert execution.output == "second"


async def test_the_token_of_a_stopped_execution_is_worth_nothing(sfn: StepFunctions) -> None:
    execution, tokens = await hold(sfn)
    sfn.engine.stop_execution(execution.arn)
    with pytest.raises(ApiError) as refused:
        sfn.succeed(tokens[0], 1)
    assert refused.value.code == "TaskTimedOut"


async def test_a_task_that_takes_too_long_times_out_at_its_limit(sfn: StepFunctions) -> None:
    async def slow(_: JsonValue) -> None:
        await sfn.sleep(100)

    sfn.function("work", slow)
    state = task(TimeoutSeconds="{% $states.input.limit %}")
    execution = await sfn.start(machine(Work=state), {"limit": 40})
    started = execution.history[0].timestamp
    await sfn.advance(seconds=39)
    assert execution.status == "RUNNING"
    await sfn.advance(seconds=100)
    assert execution.error == "States.Timeout"
    assert execution.history[-1].timestamp - started == 40_000
    assert execution.types[-2:] == ["TaskTimedOut", "ExecutionFailed"]


async def test_the_machine_times_out_as_a_whole_and_nothing_catches_it(sfn: StepFunctions) -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "After"}]
    state = waiting_task(Catch=catch, Next="After")
    sfn.function("hold", lambda event: event)
    definition = machine(Hold=state, After={"Type": "Succeed"}) | {"TimeoutSeconds": 300}
    execution = await sfn.start(definition)
    await sfn.advance(seconds=301)
    assert execution.status == "TIMED_OUT"
    assert execution.types[-1] == "ExecutionTimedOut"


async def test_a_result_above_the_limit_fails_and_states_all_does_not_catch_it(
    sfn: StepFunctions,
) -> None:
    sfn.function("work", lambda _: "x" * PAYLOAD_BYTES)
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "After"}]
    definition = machine(Work=task(Catch=catch, Next="After"), After={"Type": "Succeed"})
    execution = await sfn.start(definition)
    assert execution.error == "States.DataLimitExceeded"


async def test_the_limit_counts_bytes_of_utf8(sfn: StepFunctions) -> None:
    half = "é" * (PAYLOAD_BYTES // 4)
    state = {"Type": "Pass", "Output": "{% $states.input & $states.input %}"}
    fits = await sfn.start(machine(Double=state), half[:-10])
    assert fits.status == "SUCCEEDED"
    execution = await sfn.start(machine(Double=state), half)
    assert execution.error == "States.DataLimitExceeded"


async def test_an_input_above_the_limit_is_refused_at_the_start(sfn: StepFunctions) -> None:
    with pytest.raises(ApiError) as refused:
        await sfn.start(machine(Only={"Type": "Succeed"}), "x" * PAYLOAD_BYTES)
    assert refused.value.code == "ValidationException"


@pytest.mark.parametrize("where", ["arguments", "token", "assign", "input of a child"])
async def test_the_limit_holds_wherever_data_passes(sfn: StepFunctions, where: str) -> None:
    """Each character is two bytes, so that counting characters would let it pass."""
    large = "é" * (PAYLOAD_BYTES // 2)
    half = large[: len(large) // 2 + 10]
    twice = "{% $states.input & $states.input %}"
    if where == "token":
        _, tokens = await hold(sfn)
        with pytest.raises(ApiError) as refused:
            sfn.engine.send_task_success(tokens[0], dumps(large))
        assert refused.value.code == "InvalidOutput"
        return
    states = {
        "arguments": task(Arguments={"Payload": twice}),
        "assign": {"Type": "Pass", "Assign": {"large": twice}},
        "input of a child": {
            "Type": "Map",
            "Items": [1],
            "ItemSelector": twice,
            "ItemProcessor": program(Each={"Type": "Pass"}),
        },
    }
    execution = await sfn.start(machine(Large=states[where]), half)
    assert execution.error == "States.DataLimitExceeded"


async def test_an_input_that_just_fits_is_taken(sfn: StepFunctions) -> None:
    fits = "é" * (PAYLOAD_BYTES // 2 - 1)
    execution = await sfn.start(machine(Only={"Type": "Succeed"}), fits)
    assert execution.output == fits
    with pytest.raises(ApiError):
        await sfn.start(machine(Only={"Type": "Succeed"}), fits + "é")


async def test_a_plain_function_arn_gives_its_payload_as_output(sfn: StepFunctions) -> None:
    sfn.function("work", lambda event: {"got": event})
    resource = "arn:aws:lambda:us-east-1:123456789012:function:work"
    execution = await sfn.start(machine(Work={"Type": "Task", "Resource": resource}), 7)
    assert execution.output == {"got": 7}
    assert execution.types[2:5] == [
        "LambdaFunctionScheduled",
        "LambdaFunctionStarted",
        "LambdaFunctionSucceeded",
    ]


async def test_a_function_that_does_not_exist_fails_with_lambdas_name(sfn: StepFunctions) -> None:
    execution = await sfn.start(machine(Work=task("missing")))
    assert execution.error == "Lambda.ResourceNotFoundException"
