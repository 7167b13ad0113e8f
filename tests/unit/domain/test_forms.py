"""The answer contract goes out in the strictest form that a model has, by an explicit table."""

import json

import pytest

from autoops.domain.answers import ANSWERS, answer_schema
from autoops.domain.contracts import Json
from autoops.domain.forms import (
    ENFORCED,
    Abilities,
    Form,
    abilities_table,
    enforceable,
    form_for,
    output_tokens,
)
from autoops.domain.pricing import price_table


@pytest.mark.parametrize(
    ("tools", "json_schema", "form"),
    [
        ("strict", True, Form.STRICT_TOOL),
        ("strict", False, Form.STRICT_TOOL),
        ("tools", True, Form.JSON_SCHEMA),
        ("none", True, Form.JSON_SCHEMA),
        ("tools", False, Form.TOOL),
        ("none", False, Form.TEXT),
    ],
)
def test_the_strictest_form_wins(tools: str, json_schema: bool, form: Form) -> None:
    assert (
        Abilities.read(
            {"tools": tools, "json_schema": json_schema, "most_output": 1, "counts_as": None}
        ).form
        is form
    )


def test_every_priced_model_that_answers_has_its_row() -> None:
    answering = {model for model, price in price_table().items() if price.output}
    missing = answering - abilities_table().keys()
    assert not missing, f"add a row to autoops/domain/models.json for {', '.join(sorted(missing))}"


@pytest.mark.parametrize(
    ("model", "form"),
    [
        ("local.extractive-v1", Form.TOOL),
        ("us.amazon.nova-lite-v1:0", Form.TOOL),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0", Form.TOOL),
        ("arn:aws:bedrock:us-east-1:111122223333:application-inference-profile/a", Form.TEXT),
        ("amazon.nova-lite-v1:0:300k", Form.TEXT),
        ("vendor.claude-like-v1:0", Form.TEXT),
    ],
)
def test_no_form_is_guessed_from_a_name(model: str, form: Form) -> None:
    assert form_for(model) is form


@pytest.mark.parametrize(
    ("model", "wanted", "asked"),
    [
        ("us.amazon.nova-lite-v1:0", 800, 800),
        ("us.amazon.nova-lite-v1:0", 999_999_999, 10_000),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0", 10_001, 10_000),
        ("vendor.unknown-v1:0", 64_000, 64_000),
    ],
)
def test_no_more_output_is_asked_for_than_the_model_makes(
    model: str, wanted: int, asked: int
) -> None:
    assert output_tokens(model, wanted) == asked


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_enforced_schema_is_closed_and_asks_for_every_field(name: str) -> None:
    def walk(node: Json) -> None:
        assert node.keys() <= ENFORCED
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert sorted(node["required"]) == sorted(node["properties"])
        for inner in [*node.get("properties", {}).values(), *node.get("anyOf", [])]:
            walk(inner)
        if "items" in node:
            walk(node["items"])

    walk(enforceable(answer_schema(name)))


def test_a_field_may_be_named_like_a_keyword() -> None:
    schema = {"type": "object", "properties": {"minLength": {"type": "string", "minLength": 1}}}
    assert json.loads(json.dumps(enforceable(schema)))["properties"] == {
        "minLength": {"type": "string"}
    }
