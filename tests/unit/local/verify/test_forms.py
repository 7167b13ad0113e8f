"""What `autoops verify` prints in each form, and what it says of machines from elsewhere."""

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from local.cli import app
from local.verify.baseline import changes, declared
from local.verify.machine import read_machine
from local.verify.mermaid import as_mermaid
from local.verify.sarif import as_sarif
from local.verify.settings import Settings
from local.verify.tables import row_of
from local.verify.verdict import verify
from local.verify.world import World
from local.verify.written import as_json
from unit.local.verify.shipped import ROOT, Json, altered, machine, settings, world

TEMPLATE = ["--template", str(ROOT / "template.yaml")]


def _corrections(most: int) -> World:
    def change(found: Json) -> None:
        found["States"]["AskModel"]["Arguments"]["Input"]["corrections"] = most

    return altered({"answer-question": change})


def test_a_change_is_told_with_the_number_behind_it() -> None:
    before = as_json(world(), verify(world(), settings()))["machines"]
    around = _corrections(5)
    now = as_json(around, verify(around, settings()))["machines"]
    ask = next(line for line in changes(before, now) if line.startswith("answer-question"))
    assert ask.startswith("answer-question: worst case $0.10 → $0.10 (corrections 2 → 5)")
    assert "requests 168 → " in ask


def test_nothing_is_told_where_nothing_has_changed() -> None:
    found = as_json(world(), verify(world(), settings()))["machines"]
    assert list(changes(found, found)) == []


def test_a_machine_declares_its_numbers_and_those_of_its_children() -> None:
    found = declared(world(), machine("answer-question"))
    assert found["corrections"] == 2
    assert found["ask-model TimeoutSeconds"] == 1_296_000


def test_the_readme_shows_the_figures_as_they_are() -> None:
    shown = {tuple(line.split()) for line in (ROOT / "README.md").read_text().splitlines()}
    for name, cost in verify(world(), settings()).costs.items():
        assert tuple(" ".join([name, *row_of(cost)]).split()) in shown


def test_sarif_points_to_the_line_of_the_state() -> None:
    around = altered({"ask-model": lambda d: d["States"]["Admit"].pop("TimeoutSeconds")})
    (run,) = as_sarif(around, verify(around, settings()))["runs"]
    found = next(one for one in run["results"] if "waits for its token" in one["message"]["text"])
    (place,) = found["locations"]
    assert (
        place["physicalLocation"]["artifactLocation"]["uri"] == "statemachines/ask-model.asl.json"
    )
    line = place["physicalLocation"]["region"]["startLine"]
    text = (ROOT / "statemachines/ask-model.asl.json").read_text().splitlines()[line - 1]
    assert '"Admit": {' in text
    assert {one["ruleId"] for one in run["results"]} <= {
        one["id"] for one in run["tool"]["driver"]["rules"]
    }


def test_the_graph_marks_guards_and_bounds() -> None:
    drawn = as_mermaid(world())
    assert '["Admit (1209600 s)"]:::admits' in drawn
    assert '["CallModel (' in drawn
    assert ":::guarded" in drawn
    assert '-->|"AdmissionLost, again + 1"|' in drawn


@pytest.mark.parametrize("form", ["--json", "--sarif"])
def test_the_command_prints_what_programs_read(form: str) -> None:
    result = CliRunner().invoke(app, ["verify", *TEMPLATE, form])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)


def test_the_command_compares_with_an_earlier_verdict(tmp_path: Path) -> None:
    found = as_json(_corrections(1), verify(_corrections(1), settings()))
    (tmp_path / "before.json").write_text(json.dumps(found))
    given = ["verify", *TEMPLATE, "--baseline", str(tmp_path / "before.json")]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert "(corrections 1 → 2)" in result.stdout


def test_a_file_that_is_no_machine_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "one.asl.json").write_text('{"StartAt": "A", "States": {}}')
    result = CliRunner().invoke(app, ["verify", *TEMPLATE, str(tmp_path / "one.asl.json")])
    assert result.exit_code == 2
    assert "one: has no States" in result.stderr


FOREIGN = {
    "StartAt": "Look",
    "States": {
        "Look": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName": "${TheirFunction}", "Payload.$": "$"},
            "ResultPath": "$.found",
            "Next": "Ready?",
        },
        "Ready?": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.found.ok", "BooleanEquals": True, "Next": "Tell"}],
            "Default": "Pause",
        },
        "Pause": {"Type": "Wait", "SecondsPath": "$.pause", "Next": "Look"},
        "Tell": {
            "Type": "Task",
            "Resource": "arn:aws:states:::acme:doSomething.sync",
            "End": True,
        },
    },
}


def test_a_foreign_machine_gets_an_answer() -> None:
    found = World({"theirs": read_machine("theirs", json.dumps(FOREIGN), arn="theirs")})
    said = [str(one) for one in verify(found, Settings()).findings]
    assert any("is written in JSONPath" in one for one in said)
    assert any("what ${TheirFunction} may do is not known" in one for one in said)
    assert any("nothing ends the cycle" in one for one in said)
    assert any("nothing says how long it waits" in one for one in said)
    assert any("the machine has no TimeoutSeconds" in one for one in said)
    assert as_mermaid(found)


@pytest.mark.parametrize(
    "states",
    [
        {"A": {"Type": "Unheard", "Next": "B"}, "B": {"Type": "Fail"}},
        {"A": {"Type": "Task", "End": True}},
        {"A": {"Type": "Map", "End": True}},
        {"A": {"Type": "Parallel", "Branches": [], "End": True}},
        {"A": {"Type": "Choice"}},
        {
            "A": {
                "Type": "Task",
                "Resource": "x",
                "Retry": [{}],
                "Catch": [{"Next": "A"}],
                "End": True,
            }
        },
        {"A": {"Type": "Wait", "Seconds": "soon", "End": True}},
        {"A": {"Type": "Task", "Resource": 7, "Arguments": [], "Assign": 3, "End": True}},
    ],
)
@pytest.mark.parametrize("language", ["JSONata", "JSONPath"])
def test_whatever_stands_in_a_machine_verification_does_not_crash(
    states: Json, language: str
) -> None:
    text = json.dumps({"QueryLanguage": language, "StartAt": "A", "States": states})
    found = World({"odd": read_machine("odd", text)})
    assert verify(found, Settings()).findings


def test_a_machine_of_500_states_takes_little_time() -> None:
    names = [f"S{number}" for number in range(500)]
    states: Json = {}
    for number, name in enumerate(names):
        after = names[number + 1] if number + 1 < len(names) else "Done"
        if number % 5 == 4:
            states[name] = {
                "Type": "Choice",
                "Choices": [{"Condition": "{% $n < 3 %}", "Next": names[number - 4]}],
                "Default": after,
            }
        elif number % 5 == 0:
            states[name] = {"Type": "Pass", "Assign": {"n": "{% $n + 1 %}"}, "Next": after}
        else:
            states[name] = {
                "Type": "Task",
                "Resource": "arn:aws:states:::aws-sdk:s3:getObject",
                "Arguments": {"Key": "{% $n %}"},
                "TimeoutSeconds": 10,
                "Next": after,
            }
    states |= {"Done": {"Type": "Succeed"}, "Begin": {"Type": "Pass", "Assign": {"n": 0}}}
    states["Begin"]["Next"] = "S0"
    top = {"QueryLanguage": "JSONata", "TimeoutSeconds": 90_000, "StartAt": "Begin"}
    found = World({"big": read_machine("big", json.dumps({**top, "States": states}))})
    begun = time.process_time()
    assert verify(found, Settings()).findings == []
    print(f"500 states: {time.process_time() - begun:.2f} s")  # noqa: T201 - a figure, not a limit
