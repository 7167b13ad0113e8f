"""Money is whole nano-dollars: nothing is rounded, nothing odd becomes a ceiling."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.domain.money import NANO, ceiling, dollars, show
from autoops.errors import InvalidInput

amounts = st.integers(-(10**21), 10**21)


@given(amounts)
def test_an_amount_shown_and_read_again_is_the_same(nano: int) -> None:
    assert dollars(show(nano).replace("$", ""), "budget") == nano


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=9, min_value=-(10**12), max_value=10**12
    )
)
def test_an_amount_of_nine_decimals_is_exact(amount: Decimal) -> None:
    assert dollars(str(amount), "budget") == int(amount.scaleb(9))


@given(st.integers(1, 10**9), st.integers(10, 60))
def test_an_amount_finer_than_a_nano_dollar_is_refused_however_long(
    digit: int, places: int
) -> None:
    text = f"1.{'0' * places}{digit % 9 + 1}"
    with pytest.raises(InvalidInput, match="finer"):
        dollars(text, "budget")


@pytest.mark.parametrize("text", ["", "abc", "1,5", "0x10", "--1", "$1", "1 2"])
def test_what_is_no_number_is_refused_by_the_fields_name(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^budget: not a number"):
        dollars(text, "budget")


@pytest.mark.parametrize("text", ["NaN", "sNaN", "Infinity", "-Infinity", "1e13", "1e999999"])
def test_what_is_not_finite_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^budget: must be a finite amount"):
        dollars(text, "budget")


@pytest.mark.parametrize("text", ["0", "0.000000000", "-0", "0e-999999"])
def test_nothing_is_zero_however_it_is_written(text: str) -> None:
    assert dollars(text, "budget") == 0


@pytest.mark.parametrize("text", ["0", "-1", "0.0", "-0.000000001"])
def test_a_budget_of_nothing_or_less_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^budget: must be above 0"):
        ceiling(text, NANO, 10 * NANO)


def test_without_a_budget_the_default_holds_and_never_unlimited() -> None:
    assert ceiling(None, NANO, 10 * NANO) == NANO


@pytest.mark.parametrize(
    ("requested", "default", "least"), [("1e9", 1, 10), ("5", 1, 5), (None, 99, 10)]
)
def test_the_accounts_maximum_holds_over_everything(
    requested: str | None, default: int, least: int
) -> None:
    assert ceiling(requested, default * NANO, 10 * NANO) == least * NANO


def test_the_smallest_budget_is_one_nano_dollar() -> None:
    assert ceiling("0.000000001", NANO, NANO) == 1


def test_ten_thousand_small_amounts_add_up_exactly() -> None:
    assert 10_000 * dollars("0.0000123", "cost") == dollars("0.123", "cost")


def test_a_sum_just_at_the_ceiling_is_not_below_it() -> None:
    assert dollars("0.1", "a") + dollars("0.7", "b") == dollars("0.8", "c")


@pytest.mark.parametrize(
    ("nano", "shown"),
    [(0, "$0.00"), (123_000, "$0.000123"), (-NANO, "-$1.00"), (1, "$0.000000001")],
)
def test_an_amount_is_shown_with_all_its_digits(nano: int, shown: str) -> None:
    assert show(nano) == shown
