from typing import Any

import pytest

from local.bedrock.extractive.schema import fill

ORDER = (
    "Hello, please send 3 blue widgets and 12 red gadgets to anna@example.com by 2026-12-24. "
    "Customer: Anna Smith. It is urgent and not a gift. The total is $1,250.50."
)
LINE = {
    "type": "object",
    "properties": {
        "sku": {"enum": ["blue_widget", "red_gadget", "green_gizmo"]},
        "quantity": {"type": "integer", "minimum": 1},
    },
    "required": ["sku", "quantity"],
}


def filled(properties: dict[str, Any], required: list[str], text: str = ORDER) -> Any:
    schema = {"type": "object", "properties": properties, "required": required}
    return fill(schema, text)


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("email", {"type": "string", "format": "email"}, "anna@example.com"),
        ("due", {"type": "string", "format": "date"}, "2026-12-24"),
        ("customer", {"type": "string"}, "Anna Smith"),
        ("total", {"type": "number"}, 1250.5),
        ("widgets", {"type": "integer"}, 3),
        ("urgent", {"type": "boolean"}, True),
        ("gift", {"type": "boolean"}, False),
        ("priority", {"enum": ["low", "normal", "urgent"]}, "urgent"),
        ("colors", {"type": "array", "items": {"enum": ["red", "green", "blue"]}}, ["red", "blue"]),
        ("code", {"type": "string", "pattern": r"^\d{4}-\d{2}$"}, "2026-12"),
        ("kind", {"const": "order"}, "order"),
    ],
)
def test_a_value_is_what_the_text_says(name: str, schema: dict[str, Any], value: object) -> None:
    assert filled({name: schema}, [name]) == {name: value}


def test_list_items_come_from_the_pieces_of_the_text_that_fill_them() -> None:
    lines = filled({"lines": {"type": "array", "items": LINE}}, ["lines"])["lines"]
    assert lines == [
        {"sku": "blue_widget", "quantity": 3},
        {"sku": "red_gadget", "quantity": 12},
    ]


def test_what_the_text_does_not_hold_is_left_out_or_the_smallest_value() -> None:
    properties = {
        "phone": {"type": "string", "pattern": r"\+\d{5,}"},
        "note": {"anyOf": [{"type": "string", "pattern": "xyz"}, {"type": "null"}]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "mood": {"enum": ["merry", "sad", "unknown"]},
        "items": {"type": "array", "items": LINE},
        "size": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9},
    }
    required = ["note", "confidence", "mood", "items", "size"]
    assert filled(properties, required, "Good morning to you all.") == {
        "note": None,
        "confidence": 0,
        "mood": "unknown",
        "items": [],
        "size": 1,
    }


def test_references_are_followed_and_recursion_ends() -> None:
    node = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/Node"}},
        "required": ["name"],
    }
    schema = {"$defs": {"Node": node}, "$ref": "#/$defs/Node"}
    assert fill(schema, "name: root")["name"] == "root"


def test_bounds_on_length_and_count_are_kept() -> None:
    properties = {
        "summary": {"type": "string", "maxLength": 10},
        "title": {"type": "string", "minLength": 3},
        "colors": {"type": "array", "items": {"enum": ["red", "blue"]}, "maxItems": 1},
        "sides": {"type": "array", "items": {"enum": ["left", "right"]}, "minItems": 2},
    }
    value = filled(properties, list(properties))
    assert len(value["summary"]) <= 10
    assert len(value["title"]) >= 3
    assert value["colors"] == ["red"]
    assert len(value["sides"]) == 2
