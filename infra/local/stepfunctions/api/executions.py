"""Operations on executions."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from local.stepfunctions.api.parameters import invalid, page_bounds, page_token, result_page
from local.stepfunctions.descriptions import summary
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import ApiError
from local.stepfunctions.events import page
from local.stepfunctions.names import check_name

_STATUSES: Final = ("SUCCEEDED", "TIMED_OUT", "PENDING_REDRIVE", "ABORTED", "FAILED", "RUNNING")
_LONGEST_TOKEN: Final = 3096
_BILLED_STEP: Final = 100


def start(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """StartExecution."""
    target = engine.machines.target(params["stateMachineArn"])
    run = engine.start(target, params.get("input", "{}"), params.get("name"))
    return {"executionArn": run.identity.arn, "startDate": run.started / 1000}


async def start_sync(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """StartSyncExecution: starts an Express execution and waits for its end."""
    target = engine.machines.target(params["stateMachineArn"])
    if not target.machine.express:
        raise _wrong_type()
    name = params.get("name")
    run = engine.start(target, params.get("input", "{}"), name and check_name(name))
    run = await engine.run_express(run)
    shape = summary(run)
    shape |= {"input": run.input.text, "inputDetails": {"included": True}}
    shape["outputDetails"] = {"included": True}
    if run.output is not None:
        shape["output"] = run.output.text
    for member, value in (("error", run.error), ("cause", run.cause)):
        if value is not None:
            shape[member] = value
    duration = (run.stopped or run.started) - run.started
    billed = max(_BILLED_STEP, -(-duration // _BILLED_STEP) * _BILLED_STEP)
    billing = {"billedMemoryUsedInMB": 64, "billedDurationInMilliseconds": billed}
    return {**shape, "billingDetails": billing}


def describe(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeExecution."""
    shape = engine.describe_execution(params["executionArn"])
    if params.get("includedData") == "METADATA_ONLY":
        for member in ("input", "output", "error", "cause"):
            shape.pop(member, None)
    return shape


def history(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """GetExecutionHistory."""
    events = engine.history(params["executionArn"])
    start_at, size = page_bounds(params, longest_token=_LONGEST_TOKEN)
    shapes, following = page(
        events,
        reverse=params.get("reverseOrder", False),
        start=start_at,
        size=size,
        data=params.get("includeExecutionData", True),
    )
    token = {} if following is None else {"nextToken": page_token(following)}
    return {"events": shapes, **token}


def stop(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """StopExecution."""
    arn = params["executionArn"]
    stopped = engine.stop_execution(arn, params.get("error"), params.get("cause"))
    return {"stopDate": stopped / 1000}


def redrive(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """RedriveExecution."""
    return {"redriveDate": engine.redrive_execution(params["executionArn"]) / 1000}


def listed(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """ListExecutions, newest first."""
    status = params.get("statusFilter")
    if status is not None and status not in _STATUSES:
        rule = f"Member must satisfy enum value set: [{', '.join(_STATUSES)}]"
        raise invalid(status, "statusFilter", rule)
    page_bounds(params, longest_token=_LONGEST_TOKEN)
    if "mapRunArn" in params:
        shapes = engine.map_run_executions(params["mapRunArn"])
    else:
        shapes = _of_machine(engine, params["stateMachineArn"])
    if status is not None:
        shapes = [shape for shape in shapes if shape["status"] == status]
    found, following = result_page(params, shapes[::-1], longest_token=_LONGEST_TOKEN)
    return {"executions": found, **following}


def _of_machine(engine: Engine, arn: str) -> list[dict[str, Any]]:
    machine, qualifier = engine.machines.split(arn)
    if machine.express:
        raise _wrong_type()
    shapes = engine.summaries(machine)
    if qualifier is None:
        return shapes
    members = ("stateMachineVersionArn", "stateMachineAliasArn")
    return [shape for shape in shapes if arn in (shape.get(member) for member in members)]


def _wrong_type() -> ApiError:
    sentence = "This operation is not supported by this type of state machine"
    return ApiError("StateMachineTypeNotSupported", sentence)


OPERATIONS: Final[Mapping[str, Callable[[Engine, Mapping[str, Any]], Any]]] = {
    "DescribeExecution": describe,
    "GetExecutionHistory": history,
    "ListExecutions": listed,
    "RedriveExecution": redrive,
    "StartExecution": start,
    "StartSyncExecution": start_sync,
    "StopExecution": stop,
}
