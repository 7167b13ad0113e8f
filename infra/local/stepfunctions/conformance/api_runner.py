"""Makes the calls of recorded API cases and compares the answers."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore import xform_name
from botocore.exceptions import ParamValidationError
from botocore.session import Session
from botocore.validate import ParamValidator

from local.stepfunctions.api.app import respond
from local.stepfunctions.conformance.cases import Case, needs_jsonpath
from local.stepfunctions.conformance.match import Matcher
from local.stepfunctions.conformance.normalise import normalise, parse_objects
from local.stepfunctions.conformance.world import World, make_client
from local.stepfunctions.jsontext import JsonValue

_STEP: Final = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_UNORDERED: Final = ("executions", "stateMachines", "tags", "activities", "stateMachineAliases")
_DATES: Final = re.compile(r"(?:Date|timestamp)$")


@dataclass(frozen=True, slots=True)
class ApiResult:
    """How an API case went.

    Attributes:
        id: the case.
        needs_jsonpath: whether one of its definitions does.
        passed: whether every answer had the recorded code and http status.
        path: the first difference in the whole answers, None for none.
    """

    id: str
    needs_jsonpath: bool
    passed: bool
    path: str | None


async def run_api_case(case: Case) -> ApiResult:
    """Make the calls of one case."""
    world = World(case)
    try:
        world.set_up()
        passed, path = await _calls(world, case)
    except Exception as problem:  # noqa: BLE001 - one broken case must not end the report
        passed, path = False, f"not run: {type(problem).__name__}: {problem}"
    finally:
        await world.close()
    return ApiResult(case["id"], needs_jsonpath(case), passed, path)


async def _calls(world: World, case: Case) -> tuple[bool, str | None]:
    answers: dict[str, JsonValue] = {}
    matcher = Matcher(case.get("mask_words", ()))
    passed, path = True, None
    for call in case["calls"]:
        status, answer = await _call(world, call, answers)
        answers[str(call["i"])] = answer
        told = _status_difference(call, status, answer, case)
        passed = passed and told is None
        path = path or told or _difference(call, status, answer, case, matcher)
    return passed, path


async def _call(
    world: World, call: Mapping[str, Any], answers: Mapping[str, JsonValue]
) -> tuple[int, dict[str, Any]]:
    params = dict(call["params"])
    if call["service"] != "stepfunctions":
        return 200, _other_service(call["service"], call["api"], params)
    for path, source in (call.get("refs") or {}).items():
        number, _, member = source.partition(".")
        _put(params, path, _get(answers[number], member))
    refusal = _refused_by_sdk(call["api"], params)
    if refusal is not None:
        return 0, {"__type": "ParamValidationError", "message": refusal}
    status, answer = await respond(world.engine, call["api"], json.dumps(params).encode())
    await world.engine.run_until_idle()
    return status, answer


def _other_service(service: str, api: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """What the case does with another service, whose answers are not compared."""
    answer: dict[str, Any] = getattr(make_client(service), xform_name(api))(**params)
    return answer


_MODELS: Final = Session().get_service_model("stepfunctions")


def _refused_by_sdk(api: str, params: Mapping[str, Any]) -> str | None:
    """What boto3 itself says to the parameters, None when it accepts them."""
    shape = _MODELS.operation_model(api).input_shape
    if shape is None:
        return None
    report = ParamValidator().validate(dict(params), shape)
    if not report.has_errors():
        return None
    return str(ParamValidationError(report=report.generate_report()))


def _get(answer: JsonValue, path: str) -> JsonValue:
    for name, index in _STEP.findall(path):
        answer = answer[int(index)] if index else answer[name]
    return answer


def _put(params: dict[str, Any], path: str, value: JsonValue) -> None:
    steps = [int(index) if index else name for name, index in _STEP.findall(path)]
    place: Any = params
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = value


def _recorded(call: Mapping[str, Any], case: Case) -> JsonValue:
    keys = call.get("record_as")
    key = keys[0] if isinstance(keys, list) else keys
    return case["expected"].get(key) if key else None


def _status_difference(
    call: Mapping[str, Any], status: int, answer: Mapping[str, Any], case: Case
) -> str | None:
    refused = "__type" in answer
    if refused != (call.get("expect") == "error"):
        return f"{call['api']}: {answer.get('__type', status)} {answer.get('message', '')[:200]}"
    recorded = _recorded(call, case)
    if not refused or recorded is None:
        return None
    code = _code(recorded)
    if code is not None and code != answer["__type"]:
        return f"{call['api']}: {code} against {answer['__type']} {answer['message'][:200]}"
    expected = recorded.get("http_status", status) if isinstance(recorded, dict) else status
    return None if expected == status else f"{call['api']}: http {expected} against {status}"


def _code(recorded: JsonValue) -> str | None:
    if isinstance(recorded, str):
        found = re.match(r"An error occurred \((\w+)\)", recorded)
        return found[1] if found else None
    if "Error" in recorded:
        return str(recorded["Error"]["Code"])
    name = recorded.get("exception_typename")
    return None if name is None else str(name)


def _difference(
    call: Mapping[str, Any], status: int, answer: Mapping[str, Any], case: Case, matcher: Matcher
) -> str | None:
    recorded = _recorded(call, case)
    if recorded is None:
        return None
    bindings = case.get("bindings", ())
    if "__type" in answer:
        return _message_difference(recorded, normalise(answer["message"], bindings), matcher)
    own = normalise({**_masked(parse_objects(_plain(answer))), "http_status": status}, bindings)
    for member in _UNORDERED:
        for side in (recorded, own):
            if isinstance(side.get(member), list):
                side[member] = sorted(side[member], key=_sorting)
    return matcher.difference(recorded, own, call["api"])


def _plain(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """A history's events in the recordings' form."""
    if "events" not in answer:
        return answer
    return {**answer, "events": [_plain_event(event) for event in answer["events"]]}


def _plain_event(event: Mapping[str, Any]) -> dict[str, Any]:
    details = next((dict(event[key]) for key in event if key.endswith("EventDetails")), {})
    shape: dict[str, Any] = {
        "id": event["id"],
        "prev": event["previousEventId"],
        "type": event["type"],
    }
    if event["type"].endswith(("StateEntered", "StateExited")):
        shape["stateName"] = details.pop("name")
    told = {key: value for key, value in details.items() if value != {"truncated": False}}
    return {**shape, "details": told}


def _sorting(entry: JsonValue) -> str:
    return json.dumps(entry, sort_keys=True)


def _message_difference(recorded: JsonValue, message: str, matcher: Matcher) -> str | None:
    if isinstance(recorded, str):
        text = recorded.partition(" operation: ")[2] or recorded
    elif "Error" in recorded:
        text = recorded["Error"].get("Message", "")
    else:
        text = recorded["exception_value"]
        if text.startswith("An error occurred"):
            text = text.partition(" operation: ")[2]
    return matcher.difference(text, message, "message")


def _masked(answer: JsonValue) -> Any:
    if isinstance(answer, dict):
        return {
            key: "datetime" if _DATES.search(key) and isinstance(value, float) else _masked(value)
            for key, value in answer.items()
        }
    if isinstance(answer, list):
        return [_masked(member) for member in answer]
    return answer
