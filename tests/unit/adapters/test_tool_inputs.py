"""What a model gave to its tool is read from the bytes, so that nothing of it is lost unseen."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.adapters.tool_inputs import tool_inputs
from autoops.domain.contracts import Json

words = st.text(max_size=10)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=10,
)


def body(*inputs: str) -> bytes:
    calls = [f'{{"toolUse":{{"toolUseId":"t","name":"answer","input":{one}}}}}' for one in inputs]
    return f'{{"output":{{"message":{{"content":[{",".join(calls)}]}}}}}}'.encode(
        "utf-8", "surrogatepass"
    )


@given(st.lists(values, max_size=3))
def test_every_input_is_kept_and_none_that_json_reads_whole_is_lossy(given: list[Json]) -> None:
    found = tool_inputs(body(*map(json.dumps, given)), "answer")
    assert [json.loads(one.text) for one in found] == given
    endless = [float("inf"), float("-inf")]
    assert all(not one.lossy for one in found) or any(
        str(number) in str(given) for number in endless
    )


@given(st.dictionaries(words, values, min_size=1, max_size=3), st.integers(0, 3))
def test_a_field_given_twice_is_seen_at_any_depth(value: dict[str, Json], depth: int) -> None:
    name, again = next(iter(value.items()))
    inner = f"{json.dumps(value)[:-1]},{json.dumps(name)}:{json.dumps(again)}}}"
    text = '[{"x":' * depth + inner + "}]" * depth
    (found,) = tool_inputs(body(text), "answer")
    assert found.lossy
    assert json.dumps(name) in found.text
    assert found.text.count(f"{json.dumps(name)}:") >= 2


@pytest.mark.parametrize(
    "number", ["NaN", "-Infinity", "1e400", "0.10000000000000000001", "1e-400"]
)
def test_a_number_that_a_float_does_not_hold_is_lossy(number: str) -> None:
    (found,) = tool_inputs(body(f'{{"x":[{number}]}}'), "answer")
    assert (found.lossy, found.text) == (True, f'{{"x":[{number}]}}')


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b'{"output":null}',
        b'{"output":{"message":{"content":null}}}',
        b'{"output":{"message":{"content":[{"text":"x"},{"toolUse":{"name":"pay"}}]}}}',
        b'{"output":{"message":{"content":["x"]}}}',
        b'{"output":{"message":{"content":true}}}',
        b"[" * 100_000,
        body("[" * 100_000),
    ],
)
def test_an_answer_without_a_call_of_the_tool_holds_no_input(odd: bytes) -> None:
    assert tool_inputs(odd, "answer") == ()
