"""Definitions that are refused, with AWS's codes and places."""

import json
from typing import Any

import pytest

from local.stepfunctions.errors import ApiError
from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.validation import diagnose, parse_definition
from unit.local.stepfunctions.asl import distributed, machine, program, task, waiting_task

END = {"Type": "Pass", "End": True}


def codes(definition: JsonValue, kind: str = "STANDARD") -> list[tuple[str, str | None]]:
    """Code and place of all that is wrong."""
    _, found = diagnose(json.dumps(definition), kind)
    return [(entry.code, entry.location) for entry in found]


def test_a_good_definition_has_nothing_wrong() -> None:
    assert codes(machine(Only=dict(END))) == []


def test_what_is_missing_is_named_with_its_place() -> None:
    with pytest.raises(ApiError) as refused:
        parse_definition('{"StartAt": "A"}', "STANDARD")
    assert refused.value.code == "InvalidDefinition"
    assert refused.value.message == (
        "Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED:"
        " These fields are required: [States] at /'"
    )


def test_an_unknown_target_is_found_wherever_it_stands() -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Nowhere"}]
    state = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True}
    found = codes(machine(Work={**state, "Catch": catch}))
    assert found == [("MISSING_TRANSITION_TARGET", "/States/Work/Catch[0]/Next")]


def test_a_state_that_nothing_leads_to_is_found() -> None:
    states = {"A": dict(END), "B": dict(END)}
    definition = {"QueryLanguage": "JSONata", "StartAt": "A", "States": states}
    assert codes(definition) == [("MISSING_TRANSITION_TARGET", "/States/B")]


def test_a_state_needs_next_or_end() -> None:
    definition = {"StartAt": "A", "States": {"A": {"Type": "Pass"}}}
    assert codes(definition) == [("SCHEMA_VALIDATION_FAILED", "/States/A")]


def test_bad_jsonata_is_found_with_its_place() -> None:
    state = {"Type": "Pass", "Output": {"a": ["{% 1 + %}"]}, "End": True}
    assert codes(machine(A=state)) == [("SCHEMA_VALIDATION_FAILED", "/States/A/Output/a[0]")]


@pytest.mark.parametrize("field", ["InputPath", "ResultPath", "Parameters", "Result"])
def test_jsonpath_fields_are_refused_in_jsonata(field: str) -> None:
    state = {"Type": "Pass", field: "$.x", "End": True}
    assert codes(machine(A=state)) == [("SCHEMA_VALIDATION_FAILED", f"/States/A/{field}")]


def test_a_jsonpath_machine_is_refused_with_a_sentence_that_says_so() -> None:
    state = {"Type": "Pass", "Parameters": {"a.$": "$.a"}, "End": True}
    with pytest.raises(ApiError) as refused:
        parse_definition(json.dumps({"StartAt": "A", "States": {"A": state}}), "STANDARD")
    assert "JSONPath is not implemented by this engine" in refused.value.message


def test_express_knows_no_tokens_and_no_jobs() -> None:
    def state(pattern: str) -> JsonValue:
        resource = f"arn:aws:states:::states:startExecution{pattern}"
        return machine(A={"Type": "Task", "Resource": resource, "End": True})

    place = "/States/A/Resource"
    assert codes(state(".sync:2"), "EXPRESS") == [("SCHEMA_VALIDATION_FAILED", place)]
    assert codes(state(".waitForTaskToken"), "EXPRESS") == [("SCHEMA_VALIDATION_FAILED", place)]
    assert codes(state(""), "EXPRESS") == []


def test_express_knows_no_workers_and_no_map_runs() -> None:
    worker = {"Type": "Task", "Resource": "arn:aws:states:us-east-1:123456789012:activity:a"}
    found = codes(machine(A=worker), "EXPRESS")
    assert found == [("SCHEMA_VALIDATION_FAILED", "/States/A/Resource")]
    place = "/States/A/ItemProcessor/ProcessorConfig/Mode"
    assert codes(machine(A=distributed()), "STANDARD") == []
    assert codes(machine(A=distributed()), "EXPRESS") == [("SCHEMA_VALIDATION_FAILED", place)]


def test_express_children_know_no_tokens() -> None:
    state = distributed(ItemProcessor=program(Hold=waiting_task()), ExecutionType="EXPRESS")
    place = "/States/A/ItemProcessor/States/Hold/Resource"
    assert codes(machine(A=state)) == [("SCHEMA_VALIDATION_FAILED", place)]


@pytest.mark.parametrize(
    ("states", "field"),
    [
        ({"A": {"Type": "Pass", "InputPath": "$.a", "End": True}}, "InputPath"),
        (
            {
                "A": {
                    "Type": "Choice",
                    "Choices": [{"Variable": "$.a", "IsNull": True, "Next": "B"}],
                    "Default": "B",
                },
                "B": dict(END),
            },
            "Variable",
        ),
        ({"A": {"Type": "Wait", "SecondsPath": "$.s", "End": True}}, "SecondsPath"),
    ],
)
def test_each_jsonpath_field_is_named_in_the_refusal(states: dict[str, Any], field: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_definition(json.dumps({"StartAt": "A", "States": states}), "STANDARD")
    assert refused.value.code == "InvalidDefinition"
    assert f"JSONPath is not implemented by this engine: the field '{field}'" in (
        refused.value.message
    )


def test_a_variable_of_the_outside_is_not_assigned_inside() -> None:
    inner = {"StartAt": "B", "States": {"B": {"Type": "Pass", "Assign": {"n": 2}, "End": True}}}
    outside = {"Type": "Pass", "Assign": {"n": 1}, "Next": "Both"}
    both = {"Type": "Parallel", "Branches": [inner], "End": True}
    found = codes(machine(First=outside, Both=both))
    place = "/States/Both/Branches[0]/States/B/Assign/n"
    assert found == [("SCHEMA_VALIDATION_FAILED", place)]


def test_the_name_states_cannot_be_assigned() -> None:
    state = {"Type": "Pass", "Assign": {"states": 1}, "End": True}
    found = codes(machine(A=state))
    assert found == [("SCHEMA_VALIDATION_FAILED", "/States/A/Assign/states")]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"TimeoutSeconds": 0}, "TimeoutSeconds"),
        ({"TimeoutSeconds": "soon"}, "TimeoutSeconds"),
        ({"HeartbeatSeconds": 1.5}, "HeartbeatSeconds"),
        ({"Retry": {}}, "Retry"),
        ({"Retry": [1]}, "Retry[0]"),
        ({"Retry": [{}]}, "Retry[0]"),
        ({"Retry": [{"ErrorEquals": []}]}, "Retry[0]/ErrorEquals"),
        ({"Retry": [{"ErrorEquals": "E"}]}, "Retry[0]/ErrorEquals"),
        ({"Retry": [{"ErrorEquals": ["States.ALL", "E"]}]}, "Retry[0]/ErrorEquals"),
        (
            {"Retry": [{"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["E"]}]},
            "Retry[0]/ErrorEquals",
        ),
        ({"Retry": [{"ErrorEquals": ["E"], "IntervalSeconds": 0}]}, "Retry[0]/IntervalSeconds"),
        ({"Retry": [{"ErrorEquals": ["E"], "MaxAttempts": -1}]}, "Retry[0]/MaxAttempts"),
        ({"Retry": [{"ErrorEquals": ["E"], "MaxAttempts": True}]}, "Retry[0]/MaxAttempts"),
        ({"Retry": [{"ErrorEquals": ["E"], "BackoffRate": 0.5}]}, "Retry[0]/BackoffRate"),
        ({"Retry": [{"ErrorEquals": ["E"], "MaxDelaySeconds": 0}]}, "Retry[0]/MaxDelaySeconds"),
        ({"Retry": [{"ErrorEquals": ["E"], "JitterStrategy": "HALF"}]}, "Retry[0]/JitterStrategy"),
        ({"Catch": [{"ErrorEquals": ["E"]}]}, "Catch[0]"),
    ],
)
def test_limits_and_what_handles_errors_are_held_to_their_rules(
    fields: dict[str, Any], place: str
) -> None:
    state = task(**fields)
    assert codes(machine(Work=state)) == [("SCHEMA_VALIDATION_FAILED", f"/States/Work/{place}")]


@pytest.mark.parametrize("limit", [0, -1, 1.5, "soon", "{% 5 %}", None])
def test_the_machines_own_timeout_is_a_number(limit: JsonValue) -> None:
    found = codes(machine(Only=dict(END)) | {"TimeoutSeconds": limit})
    assert found == [("SCHEMA_VALIDATION_FAILED", "/TimeoutSeconds")]
