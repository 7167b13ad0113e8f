"""Replies that nearly hold: whatever is accepted holds its contract, whatever holds is found."""

import json

from hypothesis import given
from hypothesis import strategies as st

from autoops.domain.answers import CitedAnswer
from autoops.domain.contracts import Json, to_json
from autoops.domain.structured import Accepted, Rejected, judge
from fakes import text, tool

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


def _breaks(whole: str, at: int, how: str) -> str:
    match how:
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
    st.sampled_from(["drop", "double", "quotes", "comma", "comment", "nan"]),
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
