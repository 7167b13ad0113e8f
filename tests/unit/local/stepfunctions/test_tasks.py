"""Task: tokens, time limits, heartbeats, limits on size."""

import pytest

from local.constants import PAYLOAD_BYTES
from local.stepfunctions.errors import ApiError
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import machine, task, waiting_task


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
