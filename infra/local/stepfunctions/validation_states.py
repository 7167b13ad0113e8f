"""Validation of one state: its fields, its expressions, what its query language forbids."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from local.stepfunctions.expressions import Expression, ExpressionError
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.payloads import is_expression
from local.stepfunctions.states.task_events import events_for

_TYPES: Final = ("Task", "Wait", "Pass", "Succeed", "Fail", "Choice", "Parallel", "Map")
_SCHEMA: Final = "SCHEMA_VALIDATION_FAILED"
_PATHS: Final = (
    "InputPath", "OutputPath", "ResultPath", "Parameters", "ResultSelector", "ItemsPath",
    "SecondsPath", "TimestampPath", "TimeoutSecondsPath", "HeartbeatSecondsPath",
    "MaxConcurrencyPath", "ToleratedFailureCountPath", "ToleratedFailurePercentagePath",
    "ErrorPath", "CausePath",
)  # fmt: skip
_CHOICE_PATHS: Final = ("Variable", "And", "Or", "Not")
_JSONATA_ONLY: Final = ("Arguments", "Output", "Items")
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "Task": ("Resource",),
    "Choice": ("Choices",),
    "Parallel": ("Branches",),
}
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_LABEL_FORBIDDEN: Final = re.compile(r"[\s?*<>{}\[\]:;,\\|^~$#%&`\"\x00-\x1f\x7f-\x9f]")
_LABEL_CHARACTERS: Final = 40
_WAYS: Final = ("Seconds", "Timestamp", "SecondsPath", "TimestampPath")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something wrong with a definition.

    Attributes:
        code: AWS's code.
        message: AWS's sentence without the place.
        location: where in the definition, None for the whole.
        severity: ERROR or WARNING.
    """

    code: str
    message: str
    location: str | None
    severity: str = "ERROR"

    @property
    def sentence(self) -> str:
        """The message with its place."""
        if self.location is None:
            return self.message
        return f"{self.message} at {self.location}"


def check_state(state: JsonValue, place: str, language: str, kind: str) -> Iterator[Diagnostic]:
    """All that is wrong with one state, the states inside it left out.

    Args:
        state: its ASL.
        place: where it stands, such as "/States/First".
        language: the query language of the machine.
        kind: STANDARD or EXPRESS.
    """
    if not isinstance(state, dict):
        yield Diagnostic(_SCHEMA, "Expected value of type Object", place)
        return
    own = state.get("QueryLanguage", language)
    if language == "JSONata" and own == "JSONPath":
        sentence = (
            "'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine"
        )
        yield Diagnostic(_SCHEMA, sentence, place)
        return
    if state.get("Type") not in _TYPES:
        sentence = f"The field 'Type' should have one of these values: [{', '.join(_TYPES)}]"
        yield Diagnostic(_SCHEMA, sentence, f"{place}/Type")
        return
    absent = [name for name in _REQUIRED.get(state["Type"], ()) if name not in state]
    if absent:
        yield Diagnostic(_SCHEMA, f"These fields are required: [{', '.join(absent)}]", place)
        return
    for check in (_transition, _language, _details, _time_limits):
        yield from check(state, place, own)
    yield from _allowed_in(kind, state, place)
    if own == "JSONata":
        yield from _expressions(state, place)


def _allowed_in(kind: str, state: Mapping[str, Any], place: str) -> Iterator[Diagnostic]:
    if state["Type"] == "Task":
        yield from _resource(str(state["Resource"]), f"{place}/Resource", kind)
    elif state["Type"] == "Map" and kind == "EXPRESS":
        yield from _express_map(state, place)


def _express_map(state: Mapping[str, Any], place: str) -> Iterator[Diagnostic]:
    processor = state.get("ItemProcessor")
    config = processor.get("ProcessorConfig") if isinstance(processor, dict) else None
    if isinstance(config, dict) and config.get("Mode") == "DISTRIBUTED":
        sentence = "Express state machine does not support 'DISTRIBUTED' mode"
        yield Diagnostic(_SCHEMA, sentence, f"{place}/ItemProcessor/ProcessorConfig/Mode")


def _transition(state: Mapping[str, Any], place: str, _: str) -> Iterator[Diagnostic]:
    if state["Type"] in ("Choice", "Succeed", "Fail"):
        return
    if "Next" not in state and state.get("End") is not True:
        yield Diagnostic(_SCHEMA, "These fields are required: [Next] or [End]", place)
    if "Next" in state and state.get("End") is True:
        yield Diagnostic(_SCHEMA, "Only one of these fields may be set: [Next, End]", place)


def _language(state: Mapping[str, Any], place: str, own: str) -> Iterator[Diagnostic]:
    if own == "JSONata":
        forbidden = [*_PATHS, "Result"] if state["Type"] == "Pass" else list(_PATHS)
        for name in forbidden:
            if name in state:
                sentence = f"The field '{name}' is not supported when QueryLanguage is 'JSONata'"
                yield Diagnostic(_SCHEMA, sentence, f"{place}/{name}")
        yield from _choice_fields(state, place, own)
        return
    for name in _JSONATA_ONLY:
        if name in state:
            sentence = f"The field '{name}' is only supported when QueryLanguage is 'JSONata'"
            yield Diagnostic(_SCHEMA, sentence, f"{place}/{name}")
    yield from _choice_fields(state, place, own)
    for name in _jsonpath_fields(state):
        sentence = (
            f"JSONPath is not implemented by this engine: the field '{name}' needs it. Set"
            ' "QueryLanguage": "JSONata" for the state machine and use Arguments, Output, Assign'
        )
        yield Diagnostic("JSONPATH_NOT_SUPPORTED", sentence, place)


def _choice_fields(state: Mapping[str, Any], place: str, own: str) -> Iterator[Diagnostic]:
    if state["Type"] != "Choice" or own != "JSONata":
        return
    for number, rule in enumerate(state["Choices"]):
        if any(name in rule for name in _CHOICE_PATHS):
            sentence = "A choice rule needs a Condition when QueryLanguage is 'JSONata'"
            yield Diagnostic(_SCHEMA, sentence, f"{place}/Choices[{number}]")


def _jsonpath_fields(state: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in _PATHS if name in state)
    if state["Type"] == "Choice":
        yield from (name for rule in state["Choices"] for name in _CHOICE_PATHS if name in rule)
    for name in (
        "Assign",
        "ItemSelector",
        "ItemBatcher",
        "ItemReader",
        "ResultWriter",
        "Credentials",
    ):
        yield from _dollar_keys(state.get(name))
    for catcher in state.get("Catch", ()):
        if "ResultPath" in catcher:
            yield "ResultPath"
        yield from _dollar_keys(catcher.get("Assign"))


def _dollar_keys(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            if key.endswith((".$", "Path")) or key == "Parameters":
                yield key
            else:
                yield from _dollar_keys(member)
    elif isinstance(value, list):
        for member in value:
            yield from _dollar_keys(member)


def _details(state: Mapping[str, Any], place: str, own: str) -> Iterator[Diagnostic]:
    check = _CHECKS.get(state["Type"])
    if check is not None:
        yield from check(state, place, own)


def _task(state: Mapping[str, Any], place: str, _: str) -> Iterator[Diagnostic]:
    credentials = state.get("Credentials")
    if isinstance(credentials, dict) and not {"RoleArn", "RoleArn.$"} & credentials.keys():
        sentence = "The field 'RoleArn' is required but was missing"
        yield Diagnostic(_SCHEMA, sentence, f"{place}/Credentials")


def _wait(state: Mapping[str, Any], place: str, own: str) -> Iterator[Diagnostic]:
    if sum(name in state for name in _WAYS) != 1:
        sentence = f"Exactly one of these fields is required: [{', '.join(_WAYS)}]"
        yield Diagnostic(_SCHEMA, sentence, place)
    stamp = state.get("Timestamp")
    if stamp is None or (own == "JSONata" and is_expression(stamp)):
        return
    if not isinstance(stamp, str) or not _is_moment(stamp):
        sentence = "String does not match RFC3339 timestamp"
        yield Diagnostic(_SCHEMA, sentence, f"{place}/Timestamp")


def _is_moment(text: str) -> bool:
    found = _STAMP.fullmatch(text)
    if found is None:
        return False
    try:
        datetime.fromisoformat(text[:19])
    except ValueError:
        return False
    return True


def _parallel(state: Mapping[str, Any], place: str, _: str) -> Iterator[Diagnostic]:
    if not state["Branches"]:
        yield Diagnostic(_SCHEMA, "Value cannot be empty", f"{place}/Branches")


def _map(state: Mapping[str, Any], place: str, _: str) -> Iterator[Diagnostic]:
    if "ItemProcessor" not in state and "Iterator" not in state:
        yield Diagnostic(_SCHEMA, "These fields are required: [ItemProcessor]", place)
    label = state.get("Label")
    if not isinstance(label, str):
        return
    found = _LABEL_FORBIDDEN.search(label)
    if not label:
        yield Diagnostic(_SCHEMA, "Label cannot be empty", f"{place}/Label")
    if found is not None:
        sentence = f"Label contains invalid character: '{found[0]}'"
        yield Diagnostic(_SCHEMA, sentence, f"{place}/Label")
    elif len(label) > _LABEL_CHARACTERS:
        sentence = f"Label cannot exceed {_LABEL_CHARACTERS} characters"
        yield Diagnostic(_SCHEMA, sentence, f"{place}/Label")


def _choice(state: Mapping[str, Any], place: str, _: str) -> Iterator[Diagnostic]:
    if not state["Choices"]:
        yield Diagnostic(_SCHEMA, "Value cannot be empty", f"{place}/Choices")
    for number, rule in enumerate(state["Choices"]):
        if "Next" not in rule:
            at = f"{place}/Choices[{number}]"
            yield Diagnostic(_SCHEMA, "These fields are required: [Next]", at)


_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any], str, str], Iterator[Diagnostic]]]] = {
    "Choice": _choice,
    "Map": _map,
    "Parallel": _parallel,
    "Task": _task,
    "Wait": _wait,
}


def _time_limits(state: Mapping[str, Any], place: str, _: str) -> Iterator[Diagnostic]:
    timeout, heartbeat = state.get("TimeoutSeconds"), state.get("HeartbeatSeconds")
    if isinstance(timeout, int) and isinstance(heartbeat, int) and heartbeat >= timeout:
        sentence = "The value of 'HeartbeatSeconds' must be smaller than that of 'TimeoutSeconds'"
        yield Diagnostic(_SCHEMA, sentence, place)


def _resource(resource: str, place: str, kind: str) -> Iterator[Diagnostic]:
    try:
        events = events_for(resource)
    except ValueError:
        sentence = (
            f"The resource provided {resource} is not recognized. The value is not a valid"
            " resource ARN, or the resource is not available in this region."
        )
        yield Diagnostic(_SCHEMA, sentence, place)
        return
    if kind != "EXPRESS":
        return
    if events.by_worker:
        yield Diagnostic(_SCHEMA, "Express state machine does not support Activity ARN", place)
    pattern = resource.rpartition(":")[2].partition(".")[2]
    if pattern in ("sync", "sync:2", "waitForTaskToken") or ".sync" in resource:
        named = "waitForTaskToken" if pattern == "waitForTaskToken" else "sync"
        sentence = f"Express state machine does not support '.{named}' service integration"
        yield Diagnostic(_SCHEMA, sentence, place)


def _expressions(value: JsonValue, place: str) -> Iterator[Diagnostic]:
    if isinstance(value, dict):
        for key, member in value.items():
            if key not in ("ItemProcessor", "Iterator", "Branches", "Comment"):
                yield from _expressions(member, f"{place}/{key}")
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _expressions(member, f"{place}[{number}]")
    elif is_expression(value):
        try:
            Expression(value[2:-2].strip())
        except ExpressionError as problem:
            sentence = f"The JSONata expression is not valid: {problem}"
            yield Diagnostic(_SCHEMA, sentence, place)
