"""What the operations have in common: limits on parameters, and pages."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from local.stepfunctions.errors import ApiError

_MOST_RESULTS: Final = 1000
_DEFAULT_RESULTS: Final = 100
_LONGEST_TOKEN: Final = 1024


def invalid(value: object, name: str, rule: str) -> ApiError:
    """AWS's sentence for a parameter that breaks a rule of its shape."""
    sentence = (
        f"1 validation error detected: Value '{value}' at '{name}' failed to satisfy constraint:"
        f" {rule}"
    )
    return ApiError("ValidationException", sentence)


def result_page(
    params: Mapping[str, Any], items: Sequence[Any], *, longest_token: int = _LONGEST_TOKEN
) -> tuple[list[Any], dict[str, str]]:
    """One page of a list and the answer's nextToken, empty on the last page.

    Raises:
        ApiError: ValidationException or InvalidToken.
    """
    start, size = page_bounds(params, longest_token=longest_token)
    end = start + size
    following = {"nextToken": page_token(end)} if end < len(items) else {}
    return list(items[start:end]), following


def page_bounds(
    params: Mapping[str, Any], *, longest_token: int = _LONGEST_TOKEN
) -> tuple[int, int]:
    """Where the asked-for page starts and how long it is.

    Raises:
        ApiError: ValidationException or InvalidToken.
    """
    size = params.get("maxResults", 0) or _DEFAULT_RESULTS
    if size > _MOST_RESULTS:
        rule = f"Member must have value less than or equal to {_MOST_RESULTS}"
        raise invalid(size, "maxResults", rule)
    token = params.get("nextToken")
    if token is None:
        return 0, size
    if len(token) > longest_token:
        rule = f"Member must have length less than or equal to {longest_token}"
        raise invalid(token, "nextToken", rule)
    try:
        return int(base64.b64decode(token, validate=True).decode().removeprefix("at:")), size
    except ValueError as problem:
        raise ApiError("InvalidToken", "Invalid Token: 'Invalid token'") from problem


def page_token(start: int) -> str:
    """The token of the page that starts there."""
    return base64.b64encode(f"at:{start}".encode()).decode()


def read_tags(entries: Sequence[Mapping[str, str]] | None) -> dict[str, str]:
    """Tags as a mapping."""
    return {entry["key"]: entry.get("value", "") for entry in entries or ()}
