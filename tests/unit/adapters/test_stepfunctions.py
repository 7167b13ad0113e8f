"""Step Functions as the gate and the operations see it: what is asked, what its answers mean."""

import pytest

from autoops.adapters.stepfunctions import StepFunctions
from autoops.errors import DependencyUnavailable, InvalidInput
from unit.adapters.service import Service

ARN = "arn:aws:states:us-east-1:123456789012:execution:autoops-answer-question:r1"
GONE = ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"]


def workflows(service: Service) -> StepFunctions:
    return StepFunctions(service.client("stepfunctions"))


def described(status: str, redrives: int | None = None) -> dict[str, object]:
    more = {} if redrives is None else {"redriveCount": redrives}
    return {
        "executionArn": ARN,
        "stateMachineArn": ARN,
        "status": status,
        "startDate": 1_796_126_400,
        **more,
    }


def test_a_state_that_waits_is_failed_by_the_errors_name() -> None:
    service = Service().says({})
    assert workflows(service).fail("token", "RunStopped", "the run was stopped")
    (sent,) = service.requests
    assert sent == {"taskToken": "token", "error": "RunStopped", "cause": "the run was stopped"}


def test_whether_somebody_waits_for_the_token_is_told() -> None:
    assert workflows(Service().says({})).succeed("token", {})
    for code in GONE:
        assert not workflows(Service().fails(code, 400)).succeed("token", {})
        assert not workflows(Service().fails(code, 400)).fail("token", "RunStopped", "x")


@pytest.mark.parametrize(
    ("answer", "redrive"),
    [
        (described("RUNNING"), 0),
        (described("RUNNING", 2), 2),
        (described("PENDING_REDRIVE", 1), 1),
        (described("SUCCEEDED", 0), None),
        (described("FAILED", 3), None),
        (described("TIMED_OUT"), None),
        (described("ABORTED"), None),
    ],
)
def test_an_execution_runs_at_its_redrive_count_or_not_at_all(
    answer: dict[str, object], redrive: int | None
) -> None:
    service = Service().says(answer)
    assert workflows(service).redrive_running(ARN) == redrive
    assert service.requests == [{"executionArn": ARN}]


def test_an_execution_that_nobody_knows_any_more_does_not_run() -> None:
    service = Service().fails("ExecutionDoesNotExist", 400)
    assert workflows(service).redrive_running(ARN) is None


def test_that_it_could_not_be_asked_is_no_answer() -> None:
    with pytest.raises(DependencyUnavailable):
        workflows(Service().fails("ThrottlingException", 400)).redrive_running(ARN)


def test_an_execution_is_stopped_by_the_errors_name_and_one_that_is_gone_does_not_matter() -> None:
    service = Service().says({"stopDate": 1_796_126_400})
    workflows(service).stop(ARN, "RunStopped", "an operator stopped the run")
    (sent,) = service.requests
    assert (sent["executionArn"], sent["error"]) == (ARN, "RunStopped")
    workflows(Service().fails("ExecutionDoesNotExist", 400)).stop(ARN, "RunStopped", "x")
    with pytest.raises(DependencyUnavailable):
        workflows(Service().fails("ThrottlingException", 400)).stop(ARN, "RunStopped", "x")


def test_an_execution_that_cannot_be_redriven_is_named_with_the_remedy() -> None:
    service = Service().says({"redriveDate": 1_796_126_400})
    workflows(service).redrive(ARN)
    assert service.requests[0]["executionArn"] == ARN
    with pytest.raises(InvalidInput, match="cannot be redriven; it has to have failed"):
        workflows(Service().fails("ExecutionNotRedrivable", 400)).redrive(ARN)
    with pytest.raises(DependencyUnavailable):
        workflows(Service().fails("ThrottlingException", 400)).redrive(ARN)
