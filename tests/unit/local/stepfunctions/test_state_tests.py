"""TestState: one state with a mocked or a real result."""

import json
from typing import Any

from local.stepfunctions.api.app import respond
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import task

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
