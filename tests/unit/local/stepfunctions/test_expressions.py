"""JSONata as Step Functions has it."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.stepfunctions.expressions import (
    FUNCTION,
    UNDEFINED,
    Expression,
    ExpressionError,
    Scope,
    fixed_randomness,
)
from local.stepfunctions.jsonata_functions import Ambience
from local.stepfunctions.jsontext import JsonValue

MOMENT = 1_796_126_400_000


def evaluate(source: str, given: JsonValue = None, **variables: JsonValue) -> JsonValue:
    """What an expression returns for an input and variables."""
    ambience = Ambience(MOMENT, fixed_randomness("seed"))
    scope = Scope({"input": given}, variables, lambda: {"State": {"Name": "S"}}, ambience)
    return Expression(source).evaluate(scope)


def refused(source: str, given: JsonValue = None) -> str:
    """Why an expression fails."""
    with pytest.raises(ExpressionError) as problem:
        evaluate(source, given)
    return str(problem.value)


def test_undefined_null_and_a_function_are_three_things() -> None:
    assert evaluate("$nothing") is UNDEFINED
    assert evaluate("$states.input.nothing", {}) is UNDEFINED
    assert evaluate("null") is None
    assert evaluate("$states.input.n", {"n": None}) is None
    assert evaluate("$sum") is FUNCTION
    assert evaluate("function($x){$x}") is FUNCTION
    assert evaluate('""') == ""


def test_a_sequence_of_one_stands_for_itself_and_brackets_keep_it() -> None:
    items = {"items": [{"n": 1}]}
    assert evaluate("$states.input.items.n", items) == 1
    assert evaluate("$states.input.items.n[]", items) == [1]
    assert evaluate("[$states.input.items.n]", items) == [1]
    assert evaluate("$append([], 1)") == [1]
    assert evaluate("$states.input.items", items) == [{"n": 1}]


def test_the_functions_of_step_functions() -> None:
    assert evaluate("$partition([1,2,3,4,5], 2)") == [[1, 2], [3, 4], [5]]
    assert evaluate("$range(1, 9, 2)") == [1, 3, 5, 7, 9]
    assert evaluate("$range(1, 9, 9)") == 1
    assert evaluate("$range(5, 1, -2)") == [5, 3, 1]
    assert evaluate("$parse('{\"a\": [1]}')") == {"a": [1]}
    assert evaluate("$hash('x', 'SHA-256')") == hashlib.sha256(b"x").hexdigest()
    assert evaluate("$random(7)") == evaluate("$random(7)")
    assert 0 <= evaluate("$random()") < 1
    assert len(evaluate("$uuid()")) == 36


def test_eval_does_not_exist() -> None:
    assert refused("$eval('1+1')") == "T1006: Attempted to invoke a non-function"


def test_a_number_that_json_cannot_hold_is_refused() -> None:
    assert refused("1/0").startswith("D1001: Number out of range")


def test_an_unknown_function_fails_with_jsonatas_code() -> None:
    assert refused("$randomSeeded(1)") == "T1006: Attempted to invoke a non-function"


def test_now_and_millis_follow_the_engine() -> None:
    assert evaluate("$now()") == "2026-12-01T12:00:00.000Z"
    assert evaluate("$now('[Y0001]')") == "2026"
    assert evaluate("$millis()") == MOMENT


def test_broken_jsonata_is_refused_when_compiled() -> None:
    with pytest.raises(ExpressionError):
        Expression("$states.input.(")


def test_a_hash_needs_a_known_algorithm() -> None:
    assert "algorithm" in refused("$hash('x', 'CRC')")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@given(value=JSON, path=st.lists(st.sampled_from("abc"), max_size=3))
def test_a_plain_path_means_the_same_with_and_without_the_short_cut(
    value: JsonValue, path: list[str]
) -> None:
    plain = ".".join(["$states.input", *path])
    short = evaluate(plain, value)
    whole = evaluate(f"({plain})", value)
    # The order of keys may differ: the library sorts those of some lists.
    assert short == whole


def test_an_expression_may_be_evaluated_in_another_thread_than_its_own() -> None:
    expression = Expression("$sum([1, 2]) & $uuid()")
    ambience = Ambience(MOMENT, fixed_randomness("seed"))
    scope = Scope({}, {}, dict, ambience)
    with ThreadPoolExecutor(1) as threads:
        told = threads.submit(expression.evaluate, scope).result()
    assert len(told) == 37
