"""The contracts that a model may be asked to fill."""

import json

import pytest

from autoops.domain.answers import ANSWERS, answer_contract, answer_schema, schema_bytes
from autoops.errors import InvalidInput


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_schema_stands_on_its_own_because_not_every_model_follows_references(name: str) -> None:
    said = json.dumps(answer_schema(name))
    assert "$ref" not in said
    assert "$defs" not in said
    assert schema_bytes(name) == len(said.encode())


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_every_field_is_described_and_asked_for(name: str) -> None:
    schema = answer_schema(name)
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(schema["properties"])
    assert all("description" in field for field in schema["properties"].values())


def test_an_unknown_answer_is_named_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="CitedAnswer"):
        answer_contract("Nope")
