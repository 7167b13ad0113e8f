"""Money is integer nano-dollars: 1,000,000,000 are one US dollar. No float ever holds an amount."""

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

from autoops.errors import InvalidInput

NANO: Final = 1_000_000_000


def dollars(text: str | int | Decimal, field: str) -> int:
    """Nano-dollars of an amount such as "0.25".

    Args:
        text: dollars as decimal text, whole number or Decimal; never a float.
        field: name of the field, for the error.

    Raises:
        InvalidInput: not a number, NaN, infinite, or finer than a nano-dollar.
    """
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise InvalidInput(f'{field}: not a number; give dollars such as "0.25"') from None
    if not amount.is_finite() or amount.adjusted() > 12:
        raise InvalidInput(f'{field}: must be a finite amount; give dollars such as "0.25"')
    if not amount:
        return 0
    # A Decimal product is rounded to 28 digits; a fraction is not.
    if amount.adjusted() < -9 or (nano := Fraction(amount) * NANO).denominator != 1:
        raise InvalidInput(f"{field}: finer than a nano-dollar; give at most 9 decimals")
    return nano.numerator


def ceiling(requested: str | None, default: int, account: int) -> int:
    """The run's ceiling in nano-dollars: the least of request or default, and account maximum.

    Args:
        requested: dollars as text, None for the workflow's default.
        default: the workflow's default in nano-dollars.
        account: the account's maximum in nano-dollars.

    Raises:
        InvalidInput: the request is not an amount above zero.
    """
    if requested is None:
        return min(default, account)
    amount = dollars(requested, "budget")
    if amount <= 0:
        raise InvalidInput('budget: must be above 0; give dollars such as "0.25"')
    return min(amount, account)


def show(nano: int) -> str:
    """The amount in dollars, all digits, such as "$0.000123"."""
    sign = "-" if nano < 0 else ""
    whole, rest = divmod(abs(nano), NANO)
    decimals = f"{rest:09d}".rstrip("0").ljust(2, "0")
    return f"{sign}${whole}.{decimals}"
