"""Pictures of workflows show every state and way, and the committed ones are current."""

from typing import Any
from xml.etree import ElementTree

import pytest

from local.graph import END, ROOT, START, Arrow, arrows, machines_in, main, mermaid, pictures, svg

MACHINES: dict[str, Any] = {
    "parent": {
        "Comment": 'Says "a < b"',
        "StartAt": "Each",
        "States": {
            "Each": {
                "Type": "Map",
                "Comment": "One by one",
                "ItemProcessor": {
                    "StartAt": "Inside",
                    "States": {"Inside": {"Type": "Task", "End": True}},
                },
                "Next": "Sure?",
            },
            "Sure?": {
                "Type": "Choice",
                "Choices": [{"Condition": "{% $a < 1 %}", "Next": "Child"}],
                "Default": "No",
            },
            "Child": {
                "Type": "Task",
                "Arguments": {"StateMachineArn": "${SmallOneWorkflowArn}"},
                "Catch": [{"ErrorEquals": ["States.TaskFailed"], "Next": "No"}],
                "End": True,
            },
            "No": {"Type": "Fail"},
        },
    },
    "small-one": {"StartAt": "Small", "States": {"Small": {"Type": "Succeed"}}},
}


def texts(picture: str) -> list[str]:
    root = ElementTree.fromstring(picture)  # noqa: S314  # our own picture
    return [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_way_is_an_arrow() -> None:
    assert list(arrows(MACHINES["parent"])) == [
        Arrow(START, "Each"),
        Arrow("Each", "Sure?"),
        Arrow("Sure?", "Child", "$a < 1"),
        Arrow("Sure?", "No", "otherwise"),
        Arrow("Child", END),
        Arrow("Child", "No", "States.TaskFailed", caught=True),
        Arrow("No", END),
    ]


def test_a_picture_shows_states_conditions_and_what_is_inside() -> None:
    shown = texts(svg("parent", MACHINES))
    for text in ("Each", "One by one", "Inside", "Sure?", "$a < 1", "Child", "Small", "No"):
        assert text in shown


def test_a_picture_is_drawn_of_what_no_other_workflow_runs() -> None:
    assert pictures(MACHINES).keys() == {"parent.svg"}


def test_mermaid_shows_the_same() -> None:
    text = mermaid("parent", MACHINES)
    assert text.startswith("flowchart TD\n")
    for part in ('subgraph s1["Each"]', 's2{"Sure?"}', '-->|"$a < 1"|', "-.->", '["Small"]'):
        assert part in text


def test_mermaid_is_printed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    main(["ask-model"])
    assert "AdmissionLost" in capsys.readouterr().out


def test_the_committed_pictures_are_current() -> None:
    drawn = pictures(machines_in(ROOT / "statemachines"))
    kept = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.svg")}
    stale = [name for name in drawn.keys() | kept if drawn.get(name) != kept.get(name)]
    assert not stale, f"docs/{', '.join(sorted(stale))}: run make docs"
