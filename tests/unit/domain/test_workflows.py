"""What a workflow takes to start."""

import pytest

from autoops.domain.contracts import Json
from autoops.domain.money import NANO, ceiling, dollars
from autoops.domain.workflows import QUESTION_CHARACTERS, WORKFLOWS, AnswerQuestion, workflow_named
from autoops.errors import InvalidInput


def test_a_question_and_nothing_else_starts_a_run() -> None:
    assert AnswerQuestion.read({"question": "What?"}).tenant == "default"


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"question": ""}, "question: must not be empty; write the question"),
        ({"question": " \n"}, "question: must not be empty; write the question"),
        ({"question": "x" * 100_000}, "question: has 100,000 characters; write at most 8,000"),
        ({}, "question: Field required"),
        ({"question": "What?", "budget": 0.25}, "budget: Input should be a valid string"),
        ({"question": "What?", "colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"question": 7}, "question: Input should be a valid string"),
    ],
)
def test_a_bad_start_gets_one_clear_sentence(start: Json, message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        AnswerQuestion.read(start)
    assert str(raised.value) == message


@pytest.mark.parametrize("tenant", ["", "Upper", "a/b", "../x", "-a", "a" * 64, "a b"])
def test_a_tenants_name_cannot_reach_into_anothers_keys(tenant: str) -> None:
    with pytest.raises(InvalidInput, match=r"^tenant: "):
        AnswerQuestion.read({"question": "What?", "tenant": tenant})


def test_the_longest_question_is_taken() -> None:
    assert AnswerQuestion.read({"question": "x" * QUESTION_CHARACTERS})


def test_an_unknown_workflow_is_named_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="answer-question, ingest-documents"):
        workflow_named("nope")


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_every_workflow_has_a_default_budget(name: str) -> None:
    budget = dollars(workflow_named(name).budget, "budget")
    assert ceiling(None, budget, 10 * NANO) == budget > 0
