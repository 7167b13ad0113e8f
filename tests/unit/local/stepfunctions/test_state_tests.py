"""TestState: one state with a mocked or a real result."""

import json
from typing import Any

import pytest

from local.stepfunctions.api.app import respond
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import distributed, task

RETRY = {"ErrorEquals": ["Busy"], "IntervalSeconds": 2, "MaxAttempts": 3}
CATCH = {"ErrorEquals": ["Broken"], "Next": "Repair"}
STATE = {"QueryLanguage": "JSONata", **task(Retry=[RETRY], Catch=[CATCH], Next="Done")}


async def answer(sfn: StepFunctions, state: dict[str, Any], **params: object) -> dict[str, Any]:
    """What TestState answers for a state."""
    body = json.dumps({"definition": json.dumps(state), "input": "{}", **params}).encode()
    _, told = await respond(sfn.engine, "TestState", body)
    return told


async def test_a_mocked_result_becomes_the_output_and_leads_on(sfn: StepFunctions) -> None:
    mock = {"result": '{"Payload": {"a": 1}, "StatusCode": 200}'}
    told = await answer(sfn, STATE, mock=mock)
    assert told == {"status": "SUCCEEDED", "output": '{"a":1}', "nextState": "Done"}


async def test_a_mocked_error_is_retried_caught_or_fails(sfn: StepFunctions) -> None:
    def mock(name: str) -> dict[str, Any]:
        return {"mock": {"errorOutput": {"error": name, "cause": "c"}}, "inspectionLevel": "DEBUG"}

    busy = await answer(sfn, STATE, **mock("Busy"), stateConfiguration={"retrierRetryCount": 1})
    assert busy["status"] == "RETRIABLE"
    details = busy["inspectionData"]["errorDetails"]
    assert details == {"retryIndex": 0, "retryBackoffIntervalSeconds": 4}
    broken = await answer(sfn, STATE, **mock("Broken"))
    assert (broken["status"], broken["nextState"]) == ("CAUGHT_ERROR", "Repair")
    assert (await answer(sfn, STATE, **mock("Other")))["status"] == "FAILED"


async def test_a_mocked_result_must_look_like_the_services(sfn: StepFunctions) -> None:
    told = await answer(sfn, STATE, mock={"result": '{"StatusCode": "200"}'})
    assert told["message"].endswith("Field 'StatusCode' must be a number")
    loose = {"result": '{"Payload": 1, "StatusCode": "200"}', "fieldValidationMode": "NONE"}
    assert (await answer(sfn, STATE, mock=loose))["status"] == "SUCCEEDED"


async def test_without_a_mock_the_function_itself_is_called(sfn: StepFunctions) -> None:
    sfn.function("work", lambda event: {"got": event})
    told = await answer(sfn, STATE, input='{"q": 1}')
    assert told["output"] == '{"got":{"q":1}}'


@pytest.mark.parametrize("level", ["DEBUG", "TRACE"])
async def test_the_level_shows_arguments_result_and_variables(
    sfn: StepFunctions, level: str
) -> None:
    sfn.function("work", lambda event: event["q"] + 1)
    state = {**STATE, "Assign": {"n": "{% $before + $states.result.Payload %}"}}
    told = await answer(
        sfn, state, input='{"q": 1}', variables='{"before": 5}', inspectionLevel=level
    )
    shown = told["inspectionData"]
    assert json.loads(shown["input"]) == {"q": 1}
    assert json.loads(shown["afterArguments"]) == {"FunctionName": "work", "Payload": {"q": 1}}
    assert json.loads(shown["result"])["Payload"] == 2
    assert json.loads(shown["variables"]) == {"before": 5, "n": 7}


async def test_without_a_level_nothing_of_the_way_is_shown(sfn: StepFunctions) -> None:
    mock = {"result": '{"Payload": 1, "StatusCode": 200}'}
    assert "inspectionData" not in await answer(sfn, STATE, mock=mock)
    assert "inspectionData" not in await answer(sfn, STATE, mock=mock, inspectionLevel="INFO")


async def test_a_failed_expression_shows_where_it_stands(sfn: StepFunctions) -> None:
    state = {"QueryLanguage": "JSONata", "Type": "Pass", "Output": "{% $nothing %}", "End": True}
    told = await answer(sfn, state, inspectionLevel="DEBUG")
    assert (told["status"], told["error"]) == ("FAILED", "States.QueryEvaluationError")
    assert "Output" in told["cause"] or "nothing" in told["cause"]


async def test_a_state_that_needs_jsonpath_is_refused_with_a_sentence_that_says_so(
    sfn: StepFunctions,
) -> None:
    state = {"Type": "Pass", "Parameters": {"a.$": "$.a"}, "End": True}
    told = await answer(sfn, state)
    assert told["__type"] == "InvalidDefinition"
    assert "JSONPath is not implemented by this engine" in told["message"]


async def test_a_choice_tells_where_it_leads_and_a_wait_takes_no_time(sfn: StepFunctions) -> None:
    rule = {"Condition": "{% $states.input.q > 1 %}", "Next": "Large"}
    choice = {"QueryLanguage": "JSONata", "Type": "Choice", "Choices": [rule], "Default": "Small"}
    assert (await answer(sfn, choice, input='{"q": 2}'))["nextState"] == "Large"
    assert (await answer(sfn, choice, input='{"q": 1}'))["nextState"] == "Small"
    wait = {"QueryLanguage": "JSONata", "Type": "Wait", "Seconds": 900, "Next": "After"}
    assert (await answer(sfn, wait))["nextState"] == "After"


async def test_a_map_fails_when_more_iterations_failed_than_may(sfn: StepFunctions) -> None:
    catch = [{"ErrorEquals": ["States.ExceedToleratedFailureThreshold"], "Next": "Repair"}]
    state = {
        "QueryLanguage": "JSONata",
        **distributed(Items=[1, 2, 3], ToleratedFailureCount=1, Catch=catch, Next="Done"),
    }
    for failed, leads in ((1, "Done"), (2, "Repair")):
        configuration = {"mapIterationFailureCount": failed}
        told = await answer(
            sfn, state, mock={"result": "[1, 1, 1]"}, stateConfiguration=configuration
        )
        assert told["nextState"] == leads
    assert told["error"] == "States.ExceedToleratedFailureThreshold"
    assert told["cause"] == "The specified tolerated failure threshold was exceeded"
