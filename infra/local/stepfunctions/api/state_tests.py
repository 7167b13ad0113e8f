"""TestState: one state, with a mocked or a real result."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from local.stepfunctions.commands import RunTask
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import ApiError, StatesError
from local.stepfunctions.integrations.exchange import recorded
from local.stepfunctions.jsontext import Json, JsonValue
from local.stepfunctions.run import Identity
from local.stepfunctions.teststate.context import read_context
from local.stepfunctions.teststate.inspection import inspect
from local.stepfunctions.teststate.state import THRESHOLD, Bench, Tested, machine_of
from local.stepfunctions.validation import diagnose

_MOCKABLE: Final = ("Task", "Map", "Parallel")
_NEEDS_MOCK: Final = ("Map", "Parallel")
_IGNORED: Final = ("MISSING_TRANSITION_TARGET", "JSONPATH_NOT_SUPPORTED")
_DEFAULT_ROLE: Final = "arn:aws:iam::{account}:role/local"


async def test_state(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """TestState."""
    definition, state = _definition(params)
    mock = params.get("mock")
    _check_mock(state, mock, params)
    context = read_context(params.get("context"), state)
    _check_language(definition)
    bench = _bench(engine, definition, params, context)
    try:
        tested = await _outcome(engine, bench, state, mock, params)
    except StatesError as error:
        tested = Tested("FAILED", error=error)
    answer = _answer(tested)
    if params.get("inspectionLevel", "INFO") != "INFO":
        shown = inspect(bench, state, params.get("input", "{}"))
        answer["inspectionData"] = {**shown, **tested.details}
    return answer


def _definition(params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    text = params["definition"]
    try:
        definition, whole = machine_of(text, params.get("stateName"))
    except KeyError as problem:
        sentence = "State not found in definition"
        raise ApiError("ValidationException", sentence) from problem
    except ValueError as problem:
        raise _invalid(f"INVALID_JSON_DESCRIPTION: {problem}") from problem
    _, found = diagnose(json.dumps(definition), "STANDARD")
    place = f"/States/{definition['StartAt']}"
    told = [
        entry
        for entry in found
        if entry.code not in _IGNORED and (whole or (entry.location or "").startswith(place))
    ]
    if told:
        raise _invalid(", ".join(f"{entry.code}: {entry.sentence}" for entry in told))
    return definition, definition["States"][definition["StartAt"]]


def _check_mock(
    state: Mapping[str, Any], mock: Mapping[str, Any] | None, params: Mapping[str, Any]
) -> None:
    kind = state["Type"]
    if mock is None:
        if kind in _NEEDS_MOCK:
            sentence = (
                "TestState API does not support Map or Parallel states. Supported state types"
                " include: [Task, Wait, Pass, Succeed, Fail, Choice]"
            )
            raise ApiError("InvalidDefinition", sentence)
        return
    if kind not in _MOCKABLE:
        sentence = f"State type '{kind}' is not supported when a mock is specified"
        raise ApiError("ValidationException", sentence)
    if params.get("revealSecrets"):
        sentence = "TestState does not support RevealSecrets when a mock is specified."
        raise ApiError("ValidationException", sentence)
    if "result" in mock:
        _check_result(state, mock)


def _check_result(state: Mapping[str, Any], mock: Mapping[str, Any]) -> None:
    try:
        result: JsonValue = json.loads(mock["result"])
    except ValueError as problem:
        sentence = "Mocked result must be valid JSON."
        raise ApiError("ValidationException", sentence) from problem
    if "ResultWriter" in state and not isinstance(result, dict):
        raise ApiError("ValidationException", "Mocked result must be a JSON object.")
    if state["Type"] == "Task":
        # On first use: the SDK's models cost a tenth of a second of start-up.
        from local.stepfunctions.teststate.mock_schema import check_mock

        mode = mock.get("fieldValidationMode", "STRICT")
        check_mock(str(state["Resource"]), result, mode)


def _check_language(definition: Mapping[str, Any]) -> None:
    _, found = diagnose(json.dumps(definition), "STANDARD")
    for entry in found:
        if entry.code == "JSONPATH_NOT_SUPPORTED":
            raise _invalid(f"{entry.code}: {entry.sentence}")


def _bench(
    engine: Engine,
    definition: dict[str, Any],
    params: Mapping[str, Any],
    context: dict[str, Any],
) -> Bench:
    name, machine = engine.new_id(), engine.new_id()
    role = params.get("roleArn") or _DEFAULT_ROLE.format(account=engine.names.account)
    identity = Identity(
        arn=engine.names.express(machine, name, engine.new_id()).rsplit(":", 1)[0],
        name=name,
        machine_arn=engine.names.machine(machine),
        machine_name=machine,
        role_arn=role,
        seed=machine,
        express=True,
    )
    try:
        given = Json.parse(params.get("input", "{}"))
    except ValueError as problem:
        raise ApiError("InvalidExecutionInput", f"Invalid Input: '{problem}'") from problem
    bench = Bench(definition, identity, given, engine.clock.now(), context)
    bench.assign(json.loads(params.get("variables", "{}")))
    return bench


async def _outcome(
    engine: Engine,
    bench: Bench,
    state: Mapping[str, Any],
    mock: Mapping[str, Any] | None,
    params: Mapping[str, Any],
) -> Tested:
    configuration = params.get("stateConfiguration", {})
    details: dict[str, Any] = {}
    command = None
    if state["Type"] in _NEEDS_MOCK:
        details = _map_details(bench, state)
    else:
        command = bench.enter()
    bench.set_retries(configuration.get("retrierRetryCount", 0))
    if command is not None and bench.state.jsonata:
        details["afterArguments"] = command.arguments.text
    if mock is not None:
        _give(bench, mock, details, configuration)
    elif command is not None:
        details |= await _really(engine, bench, command, params)
    tested = bench.outcome()
    tested.details = details | tested.details
    return tested


async def _really(
    engine: Engine, bench: Bench, command: RunTask, params: Mapping[str, Any]
) -> dict[str, Any]:
    """Run the task itself; returns what the level TRACE shows of its HTTP request."""
    with recorded() as exchanges:
        try:
            bench.succeed(await engine.driver.try_task(bench.run, command))
        except StatesError as error:
            bench.fail(error)
    if not exchanges or params.get("inspectionLevel") != "TRACE":
        return {}
    return exchanges[-1].shown(reveal=bool(params.get("revealSecrets")))


def _map_details(bench: Bench, state: Mapping[str, Any]) -> dict[str, Any]:
    if state["Type"] != "Map":
        return {}
    numbers = bench.map_numbers()
    details: dict[str, Any] = {"maxConcurrency": numbers.get("MaxConcurrency", 0)}
    if "ToleratedFailureCount" in numbers:
        details["toleratedFailureCount"] = numbers["ToleratedFailureCount"]
    if "ToleratedFailurePercentage" in numbers:
        details["toleratedFailurePercentage"] = float(numbers["ToleratedFailurePercentage"])
    return details


def _give(
    bench: Bench,
    mock: Mapping[str, Any],
    details: Mapping[str, Any],
    configuration: Mapping[str, Any],
) -> None:
    if "errorOutput" in mock:
        told = mock["errorOutput"]
        bench.fail(StatesError(told.get("error"), told.get("cause")))
    elif _too_many_failed(details, mock, configuration):
        sentence = "The specified tolerated failure threshold was exceeded"
        bench.fail(StatesError(THRESHOLD, sentence))
    else:
        bench.succeed(Json.parse(mock["result"]))


def _too_many_failed(
    details: Mapping[str, Any], mock: Mapping[str, Any], configuration: Mapping[str, Any]
) -> bool:
    failed = configuration.get("mapIterationFailureCount", 0)
    count = details.get("toleratedFailureCount")
    share = details.get("toleratedFailurePercentage")
    if not failed or (count is None and share is None):
        return False
    items = json.loads(mock["result"])
    total = len(items) if isinstance(items, list) and items else 1
    too_many = count is not None and failed > count
    return too_many or (share is not None and 100 * failed / total > share)


def _answer(tested: Tested) -> dict[str, Any]:
    shape: dict[str, Any] = {"status": tested.status}
    if tested.output is not None:
        shape["output"] = tested.output.text
    if tested.next is not None:
        shape["nextState"] = tested.next
    if tested.error is not None:
        named = {"error": tested.error.error, "cause": tested.error.cause}
        shape |= {key: value for key, value in named.items() if value is not None}
    return shape


def _invalid(told: str) -> ApiError:
    return ApiError("InvalidDefinition", f"Invalid State Machine Definition: '{told}'")


OPERATIONS: Final[Mapping[str, Callable[[Engine, Mapping[str, Any]], Any]]] = {
    "TestState": test_state,
}
