"""Admit is told which asking of a state is the latest, in text that sorts."""

from typing import Any, Final

import jsonatapy

from architecture.project import Project

ENTERED: Final = "2026-12-01T12:00:00.000Z"
LATER: Final = "2026-12-01T12:00:00.001Z"

# When entered, how often redriven, how often retried; a state that is redriven is not entered anew
ASKINGS: Final = (
    (ENTERED, 0, 0),
    (ENTERED, 0, 9),
    (ENTERED, 0, 10),
    (ENTERED, 1, 0),
    (ENTERED, 9, 1),
    (ENTERED, 10, 0),
    (LATER, 10, 0),
)


def test_askings_sort_as_they_were_made(project: Project) -> None:
    admitting = [state for state in project.tasks() if state.name.startswith("Admit")]
    assert admitting
    for state in admitting:
        expression = state.body["Arguments"]["Payload"]["input"]["since"]
        said = [_evaluated(expression, *asking) for asking in ASKINGS]
        assert said == sorted(set(said)), state


def _evaluated(expression: str, entered: str, redrive: int, retry: int) -> Any:
    text = expression.removeprefix("{%").removesuffix("%}")
    states = {
        "context": {
            "State": {"EnteredTime": entered, "RetryCount": retry},
            "Execution": {"RedriveCount": redrive},
        }
    }
    return jsonatapy.evaluate(text, {}, {"states": states})
