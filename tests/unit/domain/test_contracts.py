"""The one serialiser and the base of every contract."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.adapters.expressions import typed, value_of
from autoops.domain.contracts import Contract, Json, Run, plain, to_json, whole_text
from autoops.errors import InvalidInput
from samples import RUN


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Shape(Enum):
    ROUND = "round"


class Model(Contract):
    when: datetime
    cost: Decimal


NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=1))

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def test_a_steps_result_of_any_kind_becomes_json() -> None:
    result = {
        "when": NOON,
        "tags": {"b", "a"},
        "cost": Decimal("0.10"),
        "raw": b"x",
        "m": Model(when=NOON, cost=Decimal("1E+2")),
        "day": date(2026, 12, 1),
        "colour": Colour.RED,
        "level": Level.HIGH,
        "shape": Shape.ROUND,
        "pair": (1, 2),
        3: None,
    }
    assert json.loads(to_json(result)) == {
        "when": "2026-12-01T12:00:00Z",
        "tags": ["a", "b"],
        "cost": "0.10",
        "raw": "eA==",
        "m": {"when": "2026-12-01T12:00:00Z", "cost": "100"},
        "day": "2026-12-01",
        "colour": "red",
        "level": 3,
        "shape": "round",
        "pair": [1, 2],
        "3": None,
    }


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity"), [{"x": float("nan")}]],
)
def test_numbers_that_are_none_are_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="NaN and Infinity"):
        to_json(value)


def test_a_type_that_json_cannot_carry_is_named_and_its_value_is_not() -> None:
    class Secret:
        def __repr__(self) -> str:
            return "canary"

    with pytest.raises(InvalidInput, match="type Secret") as raised:
        to_json({"x": Secret()})
    assert "canary" not in str(raised.value)


def test_a_time_without_its_zone_is_refused_because_it_means_another_on_each_machine() -> None:
    with pytest.raises(InvalidInput, match="zone"):
        to_json(datetime(2026, 12, 1, 12))


def test_the_same_moment_has_one_text_in_every_zone() -> None:
    assert to_json(NOON) == to_json(NOON.astimezone(BERLIN))


@given(json_values)
def test_what_is_written_is_read_back_the_same_and_written_the_same_again(value: Json) -> None:
    read = json.loads(to_json(value))
    assert read == plain(value)
    assert to_json(read) == to_json(value)


@given(st.dictionaries(st.text(), st.integers(), max_size=6))
def test_the_order_of_fields_does_not_matter(value: Mapping[str, int]) -> None:
    assert to_json(dict(reversed(list(value.items())))) == to_json(value)


def test_a_number_read_back_from_the_table_is_the_number_that_came_as_json() -> None:
    assert to_json({"step": value_of({"step": typed(1)}, "step")}) == to_json({"step": 1})


def test_a_result_written_twice_is_equal_to_the_first() -> None:
    first = plain({"cost": Decimal("0.10"), "pair": (1, 2), 1: {"x"}})
    assert plain(json.loads(to_json(first))) == first


@given(st.text())
def test_whole_text_can_always_be_encoded_and_whole_characters_stay(text: str) -> None:
    assert whole_text(text).encode().decode() == whole_text(text)
    assert whole_text("yak 😀 größe") == "yak 😀 größe"


def test_half_a_surrogate_pair_never_reaches_a_store() -> None:
    assert to_json({"summary": "done \ud83d"}) == '{"summary":"done \ufffd"}'


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"id": "canary canary"}, "id"),
        ({"tenant": "Canary"}, "tenant"),
        ({"workflow": "canary!"}, "workflow"),
        ({"extra": "canary"}, "extra"),
        ({"id": 7}, "id"),
    ],
)
def test_a_field_at_fault_is_named_and_its_value_is_not(
    changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidInput, match=rf"(^|; ){named}: ") as raised:
        Run.read({**plain(RUN), **changes})
    assert "anary" not in str(raised.value)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(InvalidInput, match="tenant: Field required"):
        Run.read({"id": "r1", "root": "a:r1", "workflow": "a"})


@pytest.mark.parametrize("value", [None, 7, "text", [], [1]])
def test_what_is_no_object_is_refused(value: Json) -> None:
    with pytest.raises(InvalidInput, match=r"^input: "):
        Run.read(value)


def test_what_is_wrong_fits_into_a_history_however_much_is_wrong() -> None:
    surplus = {f"{'x' * 1_000}{number}": 1 for number in range(10_000)}
    with pytest.raises(InvalidInput, match="and 9980 more") as raised:
        Run.read({**plain(RUN), **surplus})
    assert len(str(raised.value)) < 10_000
