"""Machines right and wrong in exactly one way, each in every place it can stand."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest

from local.verify.findings import Rule
from unit.local.verify.small import (
    DONE,
    NESTS,
    Definition,
    Json,
    Nest,
    admit,
    ask,
    charge,
    choice,
    count,
    look,
    program,
    verdict,
)

OTHER: Final = "{% $call & '/Other/' & $n %}"

ASKS: Final = program(Admit=admit(Next="Ask"), Ask=ask(Next="Done"), Done=DONE)
CHARGES: Final = program(Admit=admit(Next="Charge"), Charge=charge(Next="Done"), Done=DONE)
CHOOSES: Final = program(
    Look=look(Assign={"good": "{% $states.result.Payload.good %}"}, Next="Good?"),
    Good_Q=choice(("$good", "Admit"), Default="Done"),
    Admit=admit(Next="Ask"),
    Ask=ask(Next="Done"),
    Done=DONE,
)
CORRECTS: Final = program(
    Admit=admit(Next="Ask"),
    Ask=ask(Assign={"good": "{% $states.result.Payload.good %}"}, Next="Good?"),
    Good_Q=choice(("$good", "Done"), ("$n < 3", "Again"), Default="Done"),
    Again=count("Admit"),
    Done=DONE,
)
COMES_BACK: Final = program(
    Admit=admit(Next="Ask"),
    Ask=ask(
        Catch=[
            {"ErrorEquals": ["AdmissionLost"], "Assign": {"n": "{% $n + 1 %}"}, "Next": "Often?"}
        ],
        Next="Done",
    ),
    Often_Q=choice(("$n > 3", "Over"), Default="Admit"),
    Over={"Type": "Fail", "Error": "AdmissionLost"},
    Done=DONE,
)
BOTH_ASK: Final = program(
    Admit=admit(Next="Two"),
    Two={
        "Type": "Parallel",
        "Branches": [
            {"StartAt": "Ask", "States": {"Ask": ask(End=True)}},
            {"StartAt": "Look", "States": {"Look": look(End=True)}},
        ],
        "Next": "Done",
    },
    Done=DONE,
)
WAITS: Final = program(
    Set={"Type": "Pass", "Assign": {"until": "{% $millis() + 60000 %}"}, "Next": "Wait"},
    Wait={"Type": "Wait", "Seconds": 20, "Next": "Late?"},
    Late_Q=choice(("$millis() > $until", "Done"), Default="Wait"),
    Done=DONE,
)
LOOKS: Final = program(
    Look=look(Assign={"text": "{% $states.result.Payload.text %}"}, Next="Tell"),
    Tell={
        "Type": "Pass",
        "Output": {"text": "{% $text %}", "again": "{% $text %}", "count": "{% $n & $call %}"},
        "End": True,
    },
)
ITEMS: Final = program(
    List={"Type": "Pass", "Assign": {"items": [1, 2]}, "Next": "All"},
    All={
        "Type": "Map",
        "Items": "{% $items %}",
        "MaxConcurrency": 2,
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "INLINE"},
            "StartAt": "One",
            "States": {"One": {"Type": "Wait", "Seconds": 5, "End": True}},
        },
        "Next": "Done",
    },
    Done=DONE,
)
RIGHT: Final = {
    name.lower(): value
    for name, value in globals().items()
    if isinstance(value, dict) and "States" in value
}


@dataclass(frozen=True)
class Wrong:
    """One thing wrong in a right machine.

    Attributes:
        what: for the test's name.
        of: the right machine.
        change: makes it wrong, given its states.
        rule: the rule that is broken.
        way: to the refused state, from Begin.
        says: a piece of the sentence.
    """

    what: str
    of: Definition
    change: Callable[[Json], object]
    rule: Rule
    way: str
    says: str


def _to(state: str, target: str) -> Callable[[Json], object]:
    return lambda states: states[state].update(Next=target)


def _drop(*path: str | int) -> Callable[[Json], object]:
    def change(states: Json) -> None:
        inside: Any = states
        for name in path[:-1]:
            inside = inside[name]
        del inside[path[-1]]

    return change


def _put(value: Json, *path: str | int) -> Callable[[Json], object]:
    def change(states: Json) -> None:
        inside: Any = states
        for name in path[:-1]:
            inside = inside[name]
        inside[path[-1]] = copy.deepcopy(value)

    return change


def _without_admit(states: Json) -> None:
    del states["Admit"]
    for state in states.values():
        for way in (state, *state.get("Choices", ()), *state.get("Catch", ())):
            for key in ("Next", "Default"):
                if way.get(key) == "Admit":
                    way[key] = "Ask" if "Ask" in states else "Charge"


def _past_admit(states: Json) -> None:
    """When Admit fails, ask all the same."""
    states["Admit"]["Catch"] = [{"ErrorEquals": ["BudgetExceeded"], "Next": "Ask"}]


def _recount(states: Json) -> None:
    """The call that was admitted gets another name before it is made."""
    states["Admit"]["Next"] = "More"
    states["More"] = count("Ask")


def _ask_twice(states: Json) -> None:
    states["Ask"]["Next"] = "Twice"
    states["Twice"] = ask(Next="Done")


def _retry(states: Json) -> None:
    states["Admit"]["Retry"][2]["ErrorEquals"].append("States.Timeout")


def _wide(states: Json) -> None:
    branches = states["Two"]["Branches"]
    branches[1] = {"StartAt": "Second", "States": {"Second": ask(End=True)}}


PAYLOAD = ("Arguments", "Payload")
INPUT = (*PAYLOAD, "input")
WRONG: Final = (
    Wrong("no Admit", ASKS, _without_admit, "guard", "Begin Ask", "without an Admit"),
    Wrong("no Admit", CHARGES, _without_admit, "guard", "Begin Charge", "without an Admit"),
    Wrong("Catch", ASKS, _past_admit, "guard", "Begin Admit Ask", "without an Admit"),
    Wrong(
        "Default",
        CHOOSES,
        lambda s: s["Good?"].update(Default="Ask"),
        "guard",
        "Begin Look Good? Ask",
        "without an Admit",
    ),
    Wrong(
        "rule",
        CHOOSES,
        lambda s: s["Good?"]["Choices"].append({"Condition": "{% $n = 7 %}", "Next": "Ask"}),
        "guard",
        "Begin Look Good? Ask",
        "without an Admit",
    ),
    Wrong(
        "correction",
        CORRECTS,
        _to("Again", "Ask"),
        "guard",
        "Begin Admit Ask Good? Again Ask",
        "without an Admit",
    ),
    Wrong(
        "other call",
        ASKS,
        _put(OTHER, "Admit", *INPUT, "call"),
        "guard",
        "Begin Admit Ask",
        "without an Admit of call",
    ),
    Wrong("renamed call", ASKS, _recount, "guard", "Begin Admit More Ask", "without an Admit"),
    Wrong("twice", ASKS, _ask_twice, "guard", "Begin Admit Ask Twice", "without an Admit"),
    Wrong(
        "lost admission",
        COMES_BACK,
        lambda s: s["Often?"].update(Default="Ask"),
        "guard",
        "Begin Admit Ask Often? Ask",
        "without an Admit",
    ),
    Wrong(
        "retried Parallel",
        BOTH_ASK,
        _put([{"ErrorEquals": ["DependencyUnavailable"]}], "Two", "Retry"),
        "guard",
        "Begin Admit Two Ask",
        "without an Admit",
    ),
    Wrong(
        "passing name",
        ASKS,
        lambda s: [
            s[name]["Arguments"]["Payload"]["input"].update(
                call="{% $call & $string($states.context.State.RetryCount) %}"
            )
            for name in ("Admit", "Ask")
        ],
        "guard",
        "Begin Admit Ask",
        "another one where it is admitted",
    ),
    Wrong(
        "no counter",
        CORRECTS,
        _drop("Again", "Assign"),
        "bounds",
        "Begin Admit",
        "nothing ends the cycle",
    ),
    Wrong(
        "no ending Choice",
        CORRECTS,
        lambda s: s["Good?"]["Choices"][1].update(Condition="{% $n >= 0 %}"),
        "bounds",
        "Begin Admit",
        "nothing ends the cycle",
    ),
    Wrong(
        "counter set back",
        CORRECTS,
        _put({"n": 0}, "Again", "Assign"),
        "bounds",
        "Begin Admit",
        "nothing ends the cycle",
    ),
    Wrong(
        "Catch without counter",
        COMES_BACK,
        lambda s: s["Ask"]["Catch"][0].pop("Assign"),
        "bounds",
        "Begin Admit",
        "nothing ends the cycle",
    ),
    Wrong(
        "deadline put off",
        WAITS,
        _put({"until": "{% $millis() + 60000 %}"}, "Wait", "Assign"),
        "bounds",
        "Begin Set Wait",
        "nothing ends the cycle",
    ),
    Wrong(
        "callback",
        ASKS,
        _drop("Admit", "TimeoutSeconds"),
        "bounds",
        "Begin Admit",
        "waits for its token without end",
    ),
    Wrong(
        "task",
        ASKS,
        _drop("Ask", "TimeoutSeconds"),
        "bounds",
        "Begin Admit Ask",
        "runs without end",
    ),
    Wrong(
        "open wait",
        ITEMS,
        _put("{% $states.input.seconds %}", "All", "ItemProcessor", "States", "One", "Seconds"),
        "bounds",
        "Begin List All One",
        "how long it waits",
    ),
    Wrong(
        "open Map",
        ITEMS,
        _put({"items": "{% $states.input.items %}"}, "List", "Assign"),
        "bounds",
        "Begin List All",
        "how many items",
    ),
    Wrong(
        "callback timeout",
        ASKS,
        _retry,
        "retries",
        "Begin Admit",
        "retries States.Timeout of a callback",
    ),
    Wrong(
        "effect timeout",
        CHARGES,
        lambda s: s["Charge"]["Retry"][2]["ErrorEquals"].append("States.Timeout"),
        "retries",
        "Begin Admit Charge",
        "retries States.Timeout of an effect",
    ),
    Wrong(
        "figures",
        ASKS,
        _put(9, "Ask", "Retry", 0, "MaxAttempts"),
        "retries",
        "Begin Admit Ask",
        "with other figures",
    ),
    Wrong(
        "missing policy",
        LOOKS,
        _put(["Lambda.TooManyRequestsException"], "Look", "Retry", 1, "ErrorEquals"),
        "retries",
        "Begin Look",
        "does not retry ModelThrottled",
    ),
    Wrong(
        "lease",
        CHARGES,
        _put(2, "Charge", "Retry", 3, "MaxAttempts"),
        "retries",
        "Begin Admit Charge",
        "waits 38 s for CallInProgress",
    ),
    Wrong(
        "service",
        CHARGES,
        lambda s: s["Charge"].update(
            Resource="arn:aws:states:::sns:publish", Arguments={}, Retry=[]
        ),
        "undo",
        "Begin Admit Charge",
        "sns:publish changes something outside",
    ),
    Wrong(
        "way round",
        CHOOSES,
        lambda s: s["Look"].update(
            Assign={},
            Catch=[
                {"ErrorEquals": ["States.TaskFailed"], "Assign": {"good": True}, "Next": "Good?"}
            ],
        ),
        "data",
        "Begin Look Good?",
        "reads $good, which is not bound on this way",
    ),
    Wrong(
        "renamed",
        LOOKS,
        _put("{% $txet %}", "Tell", "Output", "again"),
        "data",
        "Begin Look Tell",
        "reads $txet, assigned nowhere",
    ),
    Wrong(
        "JSONata",
        LOOKS,
        _put("{% $n + %}", "Tell", "Output", "again"),
        "data",
        "",
        "JSONata expression is not valid",
    ),
    Wrong(
        "private",
        LOOKS,
        _put("{% $text.first %}", "Tell", "Output", "again"),
        "data",
        "Begin Look Tell",
        "looks below $text",
    ),
    Wrong(
        "computes",
        LOOKS,
        _put("{% $length($text) %}", "Tell", "Output", "again"),
        "data",
        "Begin Look Tell",
        "computes with $text",
    ),
    Wrong(
        "unreachable",
        LOOKS,
        _put({"Type": "Pass", "End": True}, "Lonely"),
        "data",
        "",
        "no way leads here",
    ),
    Wrong(
        "error name",
        ASKS,
        lambda s: s["Ask"].update(Catch=[{"ErrorEquals": ["AdmisionLost"], "Next": "Done"}]),
        "data",
        "Begin Admit Ask",
        "no error of autoops.errors",
    ),
    Wrong(
        "never raised",
        LOOKS,
        lambda s: s["Look"].update(
            Catch=[{"ErrorEquals": ["AdmissionLost"], "Assign": {"text": "x"}, "Next": "Tell"}]
        ),
        "data",
        "Begin Look",
        "which only a model call raises",
    ),
    Wrong(
        "heartbeat",
        LOOKS,
        lambda s: s["Look"].update(
            Catch=[
                {
                    "ErrorEquals": ["States.HeartbeatTimeout"],
                    "Assign": {"text": "x"},
                    "Next": "Tell",
                }
            ]
        ),
        "data",
        "Begin Look",
        "has no HeartbeatSeconds",
    ),
    Wrong(
        "lacks",
        CHARGES,
        _drop("Charge", *INPUT, "amount"),
        "contracts",
        "Begin Admit Charge",
        "the input lacks amount",
    ),
    Wrong(
        "spare",
        ASKS,
        _put("x", "Ask", *INPUT, "colour"),
        "contracts",
        "Begin Admit Ask",
        "has colour, which nothing takes",
    ),
    Wrong(
        "envelope",
        ASKS,
        _drop("Ask", *PAYLOAD, "attempt"),
        "contracts",
        "Begin Admit Ask",
        "the payload lacks attempt",
    ),
    Wrong(
        "field",
        LOOKS,
        _put({"text": "{% $states.result.Payload.txt %}"}, "Look", "Assign"),
        "contracts",
        "Begin Look",
        "reads txt of $states.result.Payload",
    ),
)


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
@pytest.mark.parametrize("found", RIGHT.values(), ids=RIGHT)
def test_a_right_machine_passes(found: Definition, nest: Nest) -> None:
    assert verdict(found, nest) == []


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.rule} {wrong.what}")
def test_a_machine_wrong_in_one_way_is_refused_for_it(wrong: Wrong, nest: Nest) -> None:
    altered = copy.deepcopy(wrong.of)
    wrong.change(altered["States"])
    findings = verdict(altered, nest)
    assert [(f.machine, f.rule) for f in findings] == [(nest.machine, wrong.rule)]
    assert wrong.says in findings[0].sentence
    if wrong.way:
        assert findings[0].path == (*nest.prefix, *_names(wrong.way))


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
def test_two_branches_cannot_share_one_admission(nest: Nest) -> None:
    altered = copy.deepcopy(BOTH_ASK)
    _wide(altered["States"])
    assert [finding.path[-1] for finding in verdict(altered, nest)] == ["Ask", "Second"]


def _names(way: str) -> tuple[str, ...]:
    return tuple(way.split())
