"""What goes into the table: every name aliased, no floats, no sets, types as they were."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.adapters.expressions import Item, condition, put, typed, update, value_of
from autoops.domain.contracts import Json

KEY: Item = {"PK": {"S": "RUN#r"}, "SK": {"S": "META"}}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    st.lists,
    max_leaves=8,
)


@given(values)
def test_a_value_comes_back_from_the_table_as_it_went_in(value: Json) -> None:
    back = value_of({"x": typed(value)}, "x")
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("value", [0.1, {1, 2}, set(), frozenset(), b"x", {"a": 1}, (1,)])
def test_a_type_that_the_table_would_change_does_not_go_in(value: object) -> None:
    with pytest.raises(TypeError, match=type(value).__name__):
        typed(value)


def test_a_reserved_word_is_only_ever_an_alias() -> None:
    written = update(KEY, "SET #status = :status", "#status = :old", status="a", old="b")["Update"]
    assert written["ExpressionAttributeNames"] == {"#status": "status"}
    for expression in (written["UpdateExpression"], written["ConditionExpression"]):
        assert not re.search(r"(?<![#:\w])status", expression)


def test_an_update_touches_only_what_is_there_unless_it_says_otherwise() -> None:
    assert (
        update(KEY, "SET #a = :a", a=1)["Update"]["ConditionExpression"] == "attribute_exists(PK)"
    )


def test_a_failed_condition_shows_what_stands() -> None:
    for write in (
        put(KEY, {"a": 1}, "attribute_not_exists(PK)")["Put"],
        condition(KEY, "#a = :a", a=1)["ConditionCheck"],
    ):
        assert write["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


def test_a_put_without_a_condition_has_no_expressions() -> None:
    assert put(KEY, {"a": 1}) == {"Put": {"Item": {**KEY, "a": {"N": "1"}}}}
