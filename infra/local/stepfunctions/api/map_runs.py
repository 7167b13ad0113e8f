"""Operations on map runs."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from local.stepfunctions.api.parameters import result_page
from local.stepfunctions.engine import Engine
from local.stepfunctions.mapruns.runs import MapRun


def describe(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeMapRun."""
    run = engine.map_runs.get(params["mapRunArn"])
    counts = run.counts()
    shape: dict[str, Any] = {
        "mapRunArn": run.arn,
        "executionArn": run.execution_arn,
        "status": run.status,
        "startDate": run.started / 1000,
        "maxConcurrency": run.concurrency,
        "toleratedFailureCount": run.tolerated_count or 0,
        "toleratedFailurePercentage": float(run.tolerated_share or 0),
        "redriveCount": run.redrives,
        "itemCounts": _counts(run, counts["items"]),
        "executionCounts": _counts(run, counts["executions"]),
    }
    if run.stopped is not None:
        shape["stopDate"] = run.stopped / 1000
    if run.redriven is not None:
        shape["redriveDate"] = run.redriven / 1000
    return shape


def _counts(run: MapRun, by_status: Mapping[str, int]) -> dict[str, int]:
    counts = Counter(by_status)
    return {
        "pending": counts["PENDING"],
        "running": counts["RUNNING"],
        "succeeded": counts["SUCCEEDED"],
        "failed": counts["FAILED"],
        "timedOut": counts["TIMED_OUT"],
        "aborted": counts["ABORTED"],
        "total": counts.total(),
        "resultsWritten": run.written,
        "failuresNotRedrivable": 0,
        "pendingRedrive": 0,
    }


def listed(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """ListMapRuns: those of one execution."""
    arn = params["executionArn"]
    parent = engine.run(arn)
    shapes = []
    for run in engine.map_runs:
        if run.execution_arn != arn:
            continue
        shape: dict[str, Any] = {
            "executionArn": arn,
            "mapRunArn": run.arn,
            "stateMachineArn": parent.identity.machine_arn,
            "startDate": run.started / 1000,
        }
        if run.stopped is not None:
            shape["stopDate"] = run.stopped / 1000
        shapes.append(shape)
    page, following = result_page(params, shapes)
    return {"mapRuns": page, **following}


def update(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """UpdateMapRun: how many at once and what it tolerates from now on."""
    engine.map_runs.update(
        params["mapRunArn"],
        params.get("maxConcurrency"),
        params.get("toleratedFailureCount"),
        params.get("toleratedFailurePercentage"),
    )
    return {}


OPERATIONS: Final[Mapping[str, Callable[[Engine, Mapping[str, Any]], Any]]] = {
    "DescribeMapRun": describe,
    "ListMapRuns": listed,
    "UpdateMapRun": update,
}
