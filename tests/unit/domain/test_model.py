"""A request that no model would take is refused before any call."""

from typing import Any

import pytest

from autoops.domain.contracts import plain
from autoops.domain.model import ModelRequest
from autoops.errors import InvalidInput
from samples import request

USER = {"role": "user", "blocks": ["What is a yak?"]}
MODEL = {"role": "assistant", "blocks": ["An ox."]}


def read(**changes: Any) -> ModelRequest:
    return ModelRequest.read({**plain(request()), **changes})


@pytest.mark.parametrize("messages", [[USER], [USER, MODEL], [USER, MODEL, USER]])
def test_turns_alternate_and_start_with_the_user(messages: list[Any]) -> None:
    assert len(read(messages=messages).messages) == len(messages)


@pytest.mark.parametrize(
    "messages", [[], [MODEL], [USER, USER], [USER, MODEL, MODEL], [MODEL, USER]]
)
def test_turns_in_another_order_are_refused(messages: list[Any]) -> None:
    with pytest.raises(InvalidInput, match="messages: "):
        read(messages=messages)


@pytest.mark.parametrize("blocks", [[], [""], ["   "], ["\n"], ["Hi", "\t"]])
def test_a_blank_block_is_refused(blocks: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"messages\.0\.blocks"):
        read(messages=[{"role": "user", "blocks": blocks}])


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_tokens", 0), ("max_tokens", 999_999_999), ("temperature", 1.1), ("system", " ")],
)
def test_a_setting_out_of_range_is_refused_and_never_reserved(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"{field}: "):
        read(**{field: value})
