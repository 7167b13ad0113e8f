"""Replies that nearly hold: whatever is accepted holds its contract, whatever holds is found."""

import json

from hypothesis import given
from hypothesis import strategies as st

from autoops.domain.answers import CitedAnswer, schema_bytes
from autoops.domain.contracts import Json, plain, to_json
from autoops.domain.model import PER_MESSAGE_TOKENS, ModelReply, ModelRequest
from autoops.domain.structured import (
    EXCERPT_CHARACTERS,
    VIOLATION_CHARACTERS,
    VIOLATIONS,
    Accepted,
    Rejected,
    correction,
    judge,
)
from fakes import text, tool
from samples import request

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
prose = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}"), max_size=60)
quotes = st.fixed_dictionaries({"passage": words, "quote": words})
answers = st.fixed_dictionaries(
    {"answered": st.booleans(), "text": words, "citations": st.lists(quotes, max_size=3)}
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["true", "[]", "{}", '{"a":1}', "NaN"])
)
jsonish = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["answered", "text", "citations", "passage", "quote", "x"]), inner
        )
    ),
    max_leaves=12,
)
fences = st.sampled_from(["{}", "```json\n{}\n```", "```\n{}\n```", "Sure!\n\n{}\n\nDone."])


@given(jsonish)
def test_whatever_is_accepted_as_tool_input_holds_the_contract(value: Json) -> None:
    verdict = judge(tool({"answered": value} if value is None else value), "CitedAnswer")
    if isinstance(verdict, Accepted):
        assert CitedAnswer.read(verdict.value) == verdict.value


@given(jsonish, st.integers(0, 200), words)
def test_whatever_is_accepted_as_text_holds_the_contract(value: Json, cut: int, junk: str) -> None:
    said = json.dumps(value)
    for reply in (said, said[:cut], said[:cut] + junk + said[cut:]):
        verdict = judge(text(reply), "CitedAnswer")
        if isinstance(verdict, Accepted):
            assert CitedAnswer.read(verdict.value) == verdict.value


@given(answers, fences, prose, prose, st.sampled_from([None, 2]))
def test_an_answer_that_holds_is_found_in_fences_and_prose(
    answer: Json, fence: str, before: str, after: str, indent: int | None
) -> None:
    reply = f"{before}\n{fence.replace('{}', json.dumps(answer, indent=indent))}\n{after}"
    verdict = judge(text(reply), "CitedAnswer")
    assert isinstance(verdict, Accepted)
    assert to_json(verdict.value) == to_json(answer)


@given(answers, st.data())
def test_an_answer_cut_off_anywhere_is_never_accepted(answer: Json, data: st.DataObject) -> None:
    whole = to_json(answer)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert isinstance(judge(text(whole[:cut]), "CitedAnswer"), Rejected)


@given(answers, answers)
def test_of_two_answers_none_is_picked_unless_they_are_the_same(one: Json, two: Json) -> None:
    verdict = judge(text(f"{to_json(one)} or {to_json(two)}"), "CitedAnswer")
    assert isinstance(verdict, Accepted) == (one == two)


@given(jsonish)
def test_the_same_reply_is_judged_the_same_each_time(value: Json) -> None:
    reply = text(json.dumps(value))
    assert judge(reply, "CitedAnswer") == judge(reply, "CitedAnswer")


HALVES = st.integers(0xD800, 0xDFFF).map(lambda code: f"\\u{code:04x}")
NO_NUMBER = st.sampled_from(["NaN", "Infinity", "-Infinity", "1e400", "-1e999"])


def doubled(value: Json, at: tuple[int, ...], name: str) -> str:
    """The value as JSON, one of its objects holding a field once more; `at` counts the objects."""
    number = iter(range(1_000))

    def write(node: Json) -> str:
        if isinstance(node, list):
            return f"[{','.join(map(write, node))}]"
        if not isinstance(node, dict):
            return json.dumps(node)
        own = (next(number),) == at
        fields = [f"{json.dumps(key)}:{write(item)}" for key, item in node.items()]
        return "{" + ",".join([*fields, *([f"{json.dumps(name)}:null"] if own else [])]) + "}"

    return write(value)


@given(answers, st.data())
def test_a_field_given_twice_is_refused_wherever_it_stands(
    answer: Json, data: st.DataObject
) -> None:
    inner = data.draw(st.integers(0, len(answer["citations"])))
    name = data.draw(st.sampled_from(["passage", "quote"] if inner else sorted(answer)))
    verdict = judge(text(doubled(answer, (inner,), name)), "CitedAnswer")
    where = f"citations.{inner - 1}.{name}" if inner else name
    assert isinstance(verdict, Rejected)
    assert f"{where}: given twice; give each field once" in verdict.violations


@given(answers, words, HALVES)
def test_half_a_surrogate_pair_is_refused_wherever_it_stands(
    answer: Json, said: str, half: str
) -> None:
    marked = to_json({**answer, "text": "canary" + said})
    broken = marked.replace("canary", half, 1)
    whole = json.loads(broken)["text"]
    verdict = judge(text(broken), "CitedAnswer")
    try:
        whole.encode()
    except UnicodeEncodeError:
        assert isinstance(verdict, Rejected)
        assert verdict.violations[0].startswith("text: ")
    else:
        assert isinstance(verdict, Accepted)


@given(answers, NO_NUMBER)
def test_a_number_that_is_none_is_refused_wherever_it_stands(answer: Json, number: str) -> None:
    for place in ("answered", "text", "citations"):
        said = to_json({**answer, place: "canary"}).replace('"canary"', number)
        verdict = judge(text(said), "CitedAnswer")
        assert isinstance(verdict, Rejected)
        assert any(violation.startswith(f"{place}: ") for violation in verdict.violations)


@given(st.lists(answers, min_size=1, max_size=5), prose)
def test_of_many_answers_one_counts_only_when_all_are_the_same(many: list[Json], gap: str) -> None:
    verdict = judge(text(f"{gap} ".join(map(to_json, many))), "CitedAnswer")
    same = all(answer == many[0] for answer in many)
    assert isinstance(verdict, Accepted) is same


@given(st.integers(1, 3_000), st.sampled_from(["[", '{"text":', '[{"x":']), st.booleans())
def test_nesting_of_any_depth_is_judged_and_breaks_nothing(
    depth: int, opening: str, closed: bool
) -> None:
    closing = opening.translate({ord("["): "]", ord("{"): "}"})[::-1]
    ends = "".join(sign for sign in closing if sign in "]}") * depth if closed else ""
    said = f'{{"answered":true,"text":{opening * depth}1{ends}}}'
    assert isinstance(judge(text(said), "CitedAnswer"), Rejected)


@given(st.text("0123456789", min_size=1, max_size=5_000))
def test_a_number_of_any_length_is_judged_and_breaks_nothing(digits: str) -> None:
    said = f'{{"answered":1{digits},"text":"x","citations":[]}}'
    assert isinstance(judge(text(said), "CitedAnswer"), Rejected)


anything = st.text(max_size=200) | st.text(
    st.sampled_from(list('{}[]",:\\ \n`jsonNaIfty0123e.-\ud83d')), max_size=300
)


@given(anything, jsonish)
def test_no_reply_breaks_the_judge_and_every_verdict_is_bounded(said: str, value: Json) -> None:
    for reply in (text(said), tool({"text": value, said: value}), tool([value, said])):
        verdict = judge(reply, "CitedAnswer")
        if isinstance(verdict, Rejected):
            assert 0 < len(verdict.violations) <= VIOLATIONS
            assert all(len(one) <= VIOLATION_CHARACTERS for one in verdict.violations)
            assert_bounded(reply, verdict.violations)


BYTES = 4
CORRECTION_BYTES = BYTES * (EXCERPT_CHARACTERS + VIOLATIONS * (VIOLATION_CHARACTERS + 3) + 200)


def assert_bounded(reply: ModelReply, violations: tuple[str, ...]) -> None:
    """A correction is a valid request that holds no more than the first one and a fixed excerpt."""
    schema = schema_bytes("CitedAnswer")
    first = request()
    again = correction(first, reply, violations)
    assert ModelRequest.read(plain(again)) == again
    more = again.input_bound(schema) - first.input_bound(schema)
    assert more <= CORRECTION_BYTES + 2 * PER_MESSAGE_TOKENS
    assert again.messages[: len(first.messages)] == first.messages


@given(st.text(max_size=50), st.integers(1, 4_000), st.lists(st.text(max_size=400), max_size=20))
def test_a_corrections_bytes_have_a_bound_whatever_was_said(
    said: str, times: int, violations: list[str]
) -> None:
    held = tuple(f"text: {one}".encode("utf-8", "replace").decode()[:300] for one in violations)
    assert_bounded(text(said * times), held)
    assert_bounded(tool({"x": said * times}), held)


def _breaks(whole: str, at: int, how: str) -> str:
    match how:
        case "trailing":
            return whole.replace("]", ",]", 1)
        case "drop":
            return whole[:at] + whole[at + 1 :]
        case "double":
            return whole[:at] + whole[at] + whole[at:]
        case "quotes":
            return whole.replace('"', "'", 2)
        case "comma":
            return whole[:-1] + ",}"
        case "comment":
            return whole[:at] + "/* so */" + whole[at:]
        case _:
            return whole[:at] + "NaN" + whole[at:]


@given(
    answers,
    st.data(),
    st.sampled_from(["drop", "double", "quotes", "comma", "trailing", "comment", "nan"]),
)
def test_broken_json_is_refused_or_read_as_it_stands_and_never_repaired(
    answer: Json, data: st.DataObject, how: str
) -> None:
    whole = to_json(answer)
    broken = _breaks(whole, data.draw(st.integers(0, len(whole) - 1)), how)
    verdict = judge(text(broken), "CitedAnswer")
    if isinstance(verdict, Accepted):
        read, _ = json.JSONDecoder().raw_decode(broken, broken.index("{"))
        assert to_json(verdict.value) == to_json(read), "nothing added, nothing lost"
