"""What travels by reference, and which references are one tenant's."""

import pytest
from pydantic import BaseModel

from autoops.domain.contracts import Json, plain
from autoops.domain.references import (
    ByReference,
    Large,
    Private,
    Reference,
    artifact_key,
    is_reference,
    marker_of,
)
from autoops.domain.workflows import AnswerQuestion, Question
from autoops.errors import InvalidInput


class Fields(BaseModel):
    question: Private[Question]
    maybe: Private[str | None] = None
    context: Large[list[str]]
    count: int


@pytest.mark.parametrize(
    ("field", "marker"),
    [
        ("question", ByReference("always")),
        ("maybe", ByReference("always")),
        ("context", ByReference("large")),
        ("count", None),
    ],
)
def test_a_field_says_how_it_travels(field: str, marker: ByReference | None) -> None:
    assert marker_of(Fields, field) == marker


def test_a_question_is_private_from_the_start() -> None:
    assert marker_of(AnswerQuestion, "question") == ByReference("always")


def test_equal_content_has_one_key_and_tenants_share_none() -> None:
    assert artifact_key("a", b"x") == artifact_key("a", b"x")
    assert artifact_key("a", b"x") != artifact_key("b", b"x")
    assert artifact_key("a", b"x").startswith("a/")


def test_a_reference_is_known_by_its_form() -> None:
    assert is_reference(plain(Reference(artifact=artifact_key("a", b"x"), bytes=1)))


@pytest.mark.parametrize(
    "value", [None, "a/0", [], {}, {"artifact": "a/0"}, {"artifact": "a/0", "bytes": 1, "x": 1}]
)
def test_nothing_else_is_a_reference(value: Json) -> None:
    assert not is_reference(value)


def test_a_reference_of_the_wrong_types_is_bad_input() -> None:
    with pytest.raises(InvalidInput, match="bytes"):
        Reference.read({"artifact": "a/0", "bytes": "1"})
