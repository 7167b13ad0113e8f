"""Executions as the API and EventBridge describe them."""

from typing import Any, Final

from local.constants import HISTORY_EVENTS, REDRIVE_DAYS
from local.stepfunctions.run import Run, Status

_DAY: Final = 86_400_000
_RUNNING: Final = "Execution is RUNNING and cannot be redriven"
_INCLUDED: Final = {"included": True}


def describe(run: Run, now: int) -> dict[str, Any]:
    """DescribeExecution's answer; times are seconds."""
    identity = run.identity
    shape: dict[str, Any] = {
        **summary(run),
        "input": run.input.text,
        "inputDetails": _INCLUDED,
    }
    if run.output is not None:
        shape |= {"output": run.output.text, "outputDetails": _INCLUDED}
    if run.error is not None:
        shape["error"] = run.error
    if run.cause is not None:
        shape["cause"] = run.cause
    if identity.map_run_arn is not None:
        shape["mapRunArn"] = identity.map_run_arn
    shape |= redrive_status(run, now)
    return shape


def summary(run: Run) -> dict[str, Any]:
    """The members that ListExecutions shows too."""
    identity = run.identity
    shape: dict[str, Any] = {
        "executionArn": identity.arn,
        "stateMachineArn": identity.machine_arn,
        "name": identity.name,
        "status": str(run.status),
        "startDate": run.started / 1000,
    }
    if run.stopped is not None:
        shape["stopDate"] = run.stopped / 1000
    if identity.version_arn is not None:
        shape["stateMachineVersionArn"] = identity.version_arn
    if identity.alias_arn is not None:
        shape["stateMachineAliasArn"] = identity.alias_arn
    return shape


def redrive_status(run: Run, now: int) -> dict[str, Any]:
    """Whether an execution can be redriven, and why not."""
    shape: dict[str, Any] = {"redriveCount": run.redrives}
    if run.redriven is not None:
        shape["redriveDate"] = run.redriven / 1000
    refusal = redrive_refusal(run, now)
    shape["redriveStatus"] = "REDRIVABLE" if refusal is None else "NOT_REDRIVABLE"
    if refusal is not None:
        shape["redriveStatusReason"] = refusal
    return shape


def redrive_refusal(run: Run, now: int) -> str | None:
    """Why an execution cannot be redriven, None when it can."""
    if run.open:
        return _RUNNING
    if run.status is Status.SUCCEEDED:
        return "Execution is SUCCEEDED and cannot be redriven"
    if now - (run.stopped or now) > REDRIVE_DAYS * _DAY:
        return f"Execution is past its redrivable period of {REDRIVE_DAYS} days"
    if len(run.history) >= HISTORY_EVENTS - 1:
        return "Execution has reached the maximum number of history events"
    return None


def status_detail(run: Run, status: Status, now: int) -> dict[str, Any]:
    """The detail of "Step Functions Execution Status Change"; times are milliseconds.

    Args:
        run: the execution.
        status: RUNNING for its start, else the status it ended with.
        now: the engine's time.
    """
    identity = run.identity
    ended = status is not Status.RUNNING
    refusal = redrive_refusal(run, now) if ended else _RUNNING
    output = run.output if ended else None
    return {
        "executionArn": identity.arn,
        "stateMachineArn": identity.machine_arn,
        "stateMachineVersionArn": identity.version_arn,
        "stateMachineAliasArn": identity.alias_arn,
        "name": identity.name,
        "status": str(status),
        "startDate": run.started,
        "stopDate": run.stopped if ended else None,
        "input": run.input.text,
        "output": None if output is None else output.text,
        "inputDetails": _INCLUDED,
        "outputDetails": None if output is None else _INCLUDED,
        "error": run.error if ended else None,
        "cause": run.cause if ended else None,
        "redriveCount": run.redrives,
        "redriveDate": run.redriven,
        "redriveStatus": "REDRIVABLE" if refusal is None else "NOT_REDRIVABLE",
        "redriveStatusReason": refusal,
    }
