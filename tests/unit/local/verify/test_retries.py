from dataclasses import replace

import pytest

from local.verify.machine import Machine, read_machine
from local.verify.policies import policies
from local.verify.retries import Call, calls, endless, over_limits
from local.verify.settings import Settings
from local.verify.world import Function, World
from unit.local.verify.shipped import Json, altered, settings, world

FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:"
CHILD = "arn:aws:states:us-east-1:123456789012:stateMachine:child"
MODEL = Function("Ask", step="ask", asks_model=True, models=("amazon.nova-lite-v1:0",))


def _task(function: str, **more: Json) -> Json:
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": {"FunctionName": f"{FUNCTION}{function}:1"},
        "TimeoutSeconds": 100,
        **more,
    }


def _machine(name: str, states: Json, arn: str = "") -> Machine:
    import json

    start = next(iter(states))
    text = json.dumps({"StartAt": start, "QueryLanguage": "JSONata", "States": states})
    return read_machine(name, text, arn=arn)


def _only(*machines: Machine, redrives: int = 0) -> Call:
    found = World({m.arn: m for m in machines}, {f"{FUNCTION}Ask": MODEL})
    (call,) = calls(found, Settings(redrives=redrives))
    return call


LOOP = {
    "Begin": {
        "Type": "Pass",
        "Assign": {"n": 0, "most": "{% $states.input.most %}"},
        "Next": "Ask",
    },
    "Ask": _task("Ask", Next="Good?"),
    "Good?": {
        "Type": "Choice",
        "Choices": [
            {"Condition": "{% $good %}", "Next": "Done"},
            {"Condition": "{% $n < $most %}", "Next": "Again"},
        ],
        "Default": "Done",
    },
    "Again": {"Type": "Pass", "Assign": {"n": "{% $n + 1 %}"}, "Next": "Ask"},
    "Done": {"Type": "Succeed"},
}


def test_tries_that_ask_no_model_are_not_counted() -> None:
    retry = [
        {"ErrorEquals": ["ModelUnavailable"], "MaxAttempts": 3},
        {"ErrorEquals": ["CallInProgress", "Lambda.TooManyRequestsException"], "MaxAttempts": 7},
        {"ErrorEquals": ["ModelTimedOut"], "MaxAttempts": 0},
    ]
    call = _only(_machine("one", {"Ask": _task("Ask", Retry=retry, End=True)}))
    assert (call.tries, call.requests) == (4, 4)


def test_seconds_are_those_of_all_tries_and_the_longest_waits() -> None:
    retry = [{"ErrorEquals": ["ModelUnavailable"], "IntervalSeconds": 10, "MaxAttempts": 3}]
    call = _only(_machine("one", {"Ask": _task("Ask", Retry=retry, End=True)}))
    assert call.seconds == 4 * 100 + 10 + 20 + 40


def test_a_childs_counter_is_bounded_by_what_its_caller_writes() -> None:
    start = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Arguments": {"StateMachineArn": f"{CHILD}:1", "Input": {"most": 4}},
        "TimeoutSeconds": 5_000,
        "End": True,
    }
    call = _only(_machine("root", {"Child": start}), _machine("child", LOOP, CHILD))
    assert call.path == ("Child", "Ask")
    assert (call.requests, call.counters) == (5, {"n": 4})


def test_a_counter_whose_bound_nobody_writes_has_no_bound() -> None:
    call = _only(_machine("loop", LOOP))
    finding = next(endless(call))
    assert "no bound on requests: nothing ends the cycle through" in finding.sentence


def test_a_redrive_may_make_every_request_again() -> None:
    one = _machine("one", {"Ask": _task("Ask", End=True)})
    assert _only(one, redrives=2).requests == 3


def test_what_is_over_its_limit_and_what_has_none_is_named() -> None:
    call = _only(_machine("one", {"Ask": _task("Ask", End=True)}), redrives=2)
    found = over_limits([call], Settings(limits={"one": {"call_requests": 2}}))
    assert [finding.sentence for finding in found] == [
        "up to 3 requests, over the limit of 2",
        "declare a limit call_seconds for one in pyproject.toml",
    ]


def test_calls_of_the_shipped_machines_are_found_by_permission_not_by_name() -> None:
    assert [call.path for call in calls(world(), settings())] == [
        ("RetrieveContext",),
        ("AskModel", "CallModel"),
        ("IngestBatches", "EmbedChunks"),
    ]


def test_the_shipped_machines_follow_the_policies() -> None:
    assert [f for m in world().machines.values() for f in policies(world(), m)] == []


@pytest.mark.parametrize("function", [replace(MODEL, once=True), replace(MODEL, has_effect=True)])
def test_a_timeout_of_an_effect_must_not_be_retried(function: Function) -> None:
    retry = [{"ErrorEquals": ["States.Timeout"]}]
    machine = _machine("one", {"Ask": _task("Ask", Retry=retry, End=True)})
    around = World({machine.arn: machine}, {f"{FUNCTION}Ask": function})
    sentences = [finding.sentence for finding in policies(around, machine)]
    assert "retries States.Timeout of an effect, which may have happened" in sentences


def test_a_missing_policy_is_named_with_its_way() -> None:
    around = altered({"ask-model": lambda d: d["States"]["Admit"]["Retry"].pop(0)})
    found = [str(f) for m in around.machines.values() for f in policies(around, m)]
    assert "ask-model: Begin → Admit: does not retry DependencyUnavailable [retries]" in found


def test_the_shipped_machines_stay_below_their_limits() -> None:
    assert list(over_limits(calls(world(), settings()), settings())) == []


def test_a_correction_that_no_choice_ends_has_no_bound() -> None:
    def without_end(definition: Json) -> None:
        definition["States"]["Accepted?"]["Choices"][1]["Condition"] = "{% $correction >= 0 %}"

    found = calls(altered({"ask-model": without_end}), settings())
    assert any("no bound on requests" in one.sentence for call in found for one in endless(call))


def test_a_call_in_progress_is_awaited_as_long_as_a_dead_workers_lease_lasts() -> None:
    shipped = world()
    assert {one.lease for one in shipped.functions.values() if one.asks_model} == {90}
    longer = replace(
        shipped,
        functions={
            arn: replace(one, lease=one.lease + 120) for arn, one in shipped.functions.items()
        },
    )
    found = {str(f) for m in longer.machines.values() for f in policies(longer, m)}
    assert len(found) == 3, found
    assert all("for CallInProgress, the lease needs" in one for one in found)
