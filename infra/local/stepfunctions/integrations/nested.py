"""`states:startExecution`: executions that start executions."""

from typing import Any, Final

from local.stepfunctions.clock import iso
from local.stepfunctions.descriptions import describe
from local.stepfunctions.errors import TASK_FAILED, ApiError, StatesError
from local.stepfunctions.integrations.metadata import request_id, sdk_metadata
from local.stepfunctions.jsontext import Json, dumps, loads
from local.stepfunctions.run import Run, Status
from local.stepfunctions.tasks import TaskRequest

_DATES: Final = ("StartDate", "StopDate", "RedriveDate")


async def start_execution(request: TaskRequest, pattern: str) -> Json:
    """Start an execution and, with `.sync` or `.sync:2`, wait for its end.

    Returns:
        The start's answer, or the description of the ended execution; with `.sync:2` its
        Output is JSON instead of text.

    Raises:
        StatesError: the start was refused, or the execution did not succeed.
    """
    run = _start(request)
    answer = _start_answer(request, run)
    if not pattern.startswith("sync"):
        return answer
    engine = request.engine
    engine.wait_for_child(request.execution_arn, request.task, run.identity.arn)
    request.submitted(answer.text)
    ended = await engine.ended(run.identity.arn)
    described = _described(ended, request, parsed=pattern == "sync:2")
    if ended.status is not Status.SUCCEEDED:
        raise StatesError(TASK_FAILED, dumps(described))
    return Json(described)


def _start(request: TaskRequest) -> Run:
    arguments = request.arguments.data
    given = arguments.get("Input", {})
    text = given if isinstance(given, str) else dumps(given)
    engine = request.engine
    # The same task delivered again after a crash means the same child.
    name = arguments.get("Name") or request_id(request)
    try:
        target = engine.machines.target(arguments["StateMachineArn"])
        if request.redelivered:
            known = engine.find(engine.names.execution(target.machine.name, name))
            if known is not None:
                return known
        return engine.start(target, text, name)
    except ApiError as refusal:
        code = refusal.code
        error = code if code.endswith("Exception") else f"{code}Exception"
        cause = (
            f"{refusal.message} (Service: AWSStepFunctions; Status Code: 400; Error Code: {code};"
            f" Request ID: {request_id(request)}; Proxy: null)"
        )
        raise StatesError(f"StepFunctions.{error}", cause) from refusal


def _start_answer(request: TaskRequest, run: Run) -> Json:
    number = request_id(request)
    headers = {
        "x-amzn-RequestId": number,
        "connection": "keep-alive",
        "Content-Length": "161",
        "Content-Type": "application/x-amz-json-1.0",
    }
    metadata = sdk_metadata(request, headers, number)
    answer = {"ExecutionArn": run.identity.arn, "StartDate": iso(run.started)}
    return Json({**answer, **metadata})


def _described(run: Run, request: TaskRequest, *, parsed: bool) -> dict[str, Any]:
    shape = {
        name[0].upper() + name[1:]: value
        for name, value in describe(run, request.engine.clock.now()).items()
    }
    for name in _DATES:
        if name in shape:
            # Step Functions gives the dates of a nested execution in milliseconds.
            shape[name] = round(shape[name] * 1000)
    for name in ("InputDetails", "OutputDetails"):
        if name in shape:
            shape[name] = {"Included": True}
    if parsed:
        for name in ("Input", "Output"):
            if name in shape:
                shape[name] = loads(shape[name])
    return dict(sorted(shape.items()))
