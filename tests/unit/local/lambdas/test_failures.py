import json

import pytest

from local.lambdas import failures


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-9, "RequestId: r Error: Runtime exited with error: signal: killed"),
        (-11, "RequestId: r Error: Runtime exited with error: signal: segmentation fault"),
        (3, "RequestId: r Error: Runtime exited with error: exit status 3"),
        (0, "RequestId: r Error: Runtime exited without providing a reason"),
    ],
)
def test_a_process_that_ends_is_reported_in_lambdas_words(code: int, message: str) -> None:
    result = failures.exited("r", code, "1")
    assert result.function_error == "Unhandled"
    assert json.loads(result.payload) == {"errorType": "Runtime.ExitError", "errorMessage": message}


def test_a_timeout_names_the_seconds() -> None:
    error = json.loads(failures.timed_out("r", 30, "1").payload)
    assert error["errorType"] == "Sandbox.Timedout"
    assert error["errorMessage"] == "RequestId: r Error: Task timed out after 30.00 seconds"
