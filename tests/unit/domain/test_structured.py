"""From a reply to a value: cases of the field (S01 to S14), one rule each."""

import json
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import Field

from autoops.domain.answers import ANSWERS, CitedAnswer
from autoops.domain.contracts import Contract, Json, to_json
from autoops.domain.model import REPLY_BYTES, TOO_LARGE, ModelReply
from autoops.domain.structured import (
    CANDIDATES,
    EXCERPT_CHARACTERS,
    VIOLATION_CHARACTERS,
    VIOLATIONS,
    Accepted,
    Rejected,
    check_stop,
    correction,
    is_empty,
    judge,
)
from autoops.errors import ContentBlocked, ModelFaulted, OutputTruncated
from fakes import text, tool
from samples import ANSWER, request


class Refund(Contract):
    category: str
    amount: float


class Snippet(Contract):
    title: str
    snippet: str


class Approval(Contract):
    approve: bool


class Invoice(Contract):
    invoice_id: str
    total: float


class Score(Contract):
    score: float


class Approver(Contract):
    id: str


class Amount(Contract):
    amount: float
    approver: Approver


class Summary(Contract):
    summary: Annotated[str, Field(min_length=1)]


class Priority(Contract):
    priority: Literal["low", "medium", "high"]


class Order(Contract):
    qty: int
    price: Decimal
    paid: bool


class Item(Contract):
    sku: str
    qty: int


class Items(Contract):
    items: tuple[Item, ...]


class Optionals(Contract):
    kind: Literal["order"]
    qty: int | None
    items: tuple[Item, ...] | None
    note: str | int | None = None


CONTRACTS: dict[str, type[Contract]] = {
    contract.__name__: contract
    for contract in (
        Refund,
        Snippet,
        Approval,
        Invoice,
        Score,
        Amount,
        Summary,
        Priority,
        Order,
        Items,
        Optionals,
    )
}


@pytest.fixture(autouse=True)
def _contracts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, contract in CONTRACTS.items():
        monkeypatch.setitem(cast("dict[str, Any]", ANSWERS), name, contract)


def accepted(reply: ModelReply | str, contract: type[Contract]) -> Json:
    verdict = judge(text(reply) if isinstance(reply, str) else reply, contract.__name__)
    assert isinstance(verdict, Accepted), verdict
    return verdict.value.model_dump(mode="json")


def refused(reply: ModelReply | str, contract: type[Contract]) -> str:
    verdict = judge(text(reply) if isinstance(reply, str) else reply, contract.__name__)
    assert isinstance(verdict, Rejected), verdict
    return "\n".join(verdict.violations)


def test_a_fenced_reply_with_prose_around_it_is_taken_at_once() -> None:
    fenced = '```json\n{"category":"refund","amount":42.5}\n```\nLet me know if you need more.'
    assert accepted(fenced, Refund) == {"category": "refund", "amount": 42.5}


def test_braces_in_prose_and_fences_in_values_do_not_move_the_cut() -> None:
    value = {"title": "use {x}", "snippet": "```json\n{}\n```"}
    assert accepted(f"Per {{policy}}: {json.dumps(value)} (end)", Snippet) == value


@pytest.mark.parametrize(
    "broken",
    [
        '{"decision": {"approve": true}',
        "{'decision': {\"approve\": true}}",
        '{decision: {"approve": true}}',
        '{decision: {"approve": true}',
        '{{"approve": true}',
        '{"approve": true} and then {"approve": tr',
        '[{"decision": {"approve": true}',
    ],
)
def test_no_fragment_of_a_broken_object_is_the_answer(broken: str) -> None:
    assert refused(broken, Approval)


def test_two_answers_that_differ_are_sent_back_and_none_is_picked() -> None:
    two = 'Example: {"invoice_id":"EX-1","total":0} Answer: {"invoice_id":"INV-77","total":1250}'
    assert "several different answers" in refused(two, Invoice)


def test_the_one_object_that_holds_the_contract_is_taken_among_others() -> None:
    one = 'Given {"customer": 7}: {"invoice_id":"INV-77","total":1250}'
    assert accepted(one, Invoice)["invoice_id"] == "INV-77"


def test_the_same_answer_twice_is_one_answer() -> None:
    said = '{"approve": true}'
    assert accepted(f"{said} I repeat: {said}", Approval) == {"approve": True}


def test_an_answer_behind_more_braces_than_are_looked_at_is_sent_back() -> None:
    assert "too many" in refused("{x} " * CANDIDATES + '{"approve": true}', Approval)


@pytest.mark.parametrize("said", ['{"approved_total": 12', '{"a":1,"b":2}', ""])
@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_truncated_reply_is_no_answer_even_when_it_parses(said: str, reason: str) -> None:
    with pytest.raises(OutputTruncated, match="max_tokens"):
        check_stop(text(said, stop_reason=reason))


@pytest.mark.parametrize("reason", ["guardrail_intervened", "content_filtered"])
def test_a_blocked_reply_never_becomes_data(reason: str) -> None:
    with pytest.raises(ContentBlocked):
        check_stop(tool({"answer": "Sorry, this request was blocked."}, stop_reason=reason))


def test_an_unknown_stop_is_no_success() -> None:
    with pytest.raises(ModelFaulted, match="new_reason"):
        check_stop(tool(ANSWER, stop_reason="new_reason"))


@pytest.mark.parametrize("said", ["", " \n", "\ufffd", "\ufffd \n"])
def test_a_clean_stop_without_a_word_is_empty_output(said: str) -> None:
    check_stop(text(said))
    assert is_empty(text(said))
    assert "the reply is empty" in refused(text(said), Refund)


@pytest.mark.parametrize("reason", ["malformed_tool_use", "malformed_model_output"])
def test_what_a_model_could_not_put_into_form_is_judged_and_sent_back(reason: str) -> None:
    check_stop(text('{"score": 1', stop_reason=reason))
    check_stop(text("", stop_reason=reason))


def test_a_reply_too_large_to_keep_says_its_size_and_keeps_its_price() -> None:
    reply = text("x" * REPLY_BYTES)
    bounded = reply.bounded()
    assert "x" not in bounded.text
    assert bounded.usage == reply.usage
    with pytest.raises(
        OutputTruncated, match=rf"the reply has \d+ bytes, the limit is {REPLY_BYTES}"
    ):
        check_stop(bounded)


@pytest.mark.parametrize("said", ["x", "ü" * (REPLY_BYTES // 3)])
def test_a_reply_within_the_limit_is_kept_whole(said: str) -> None:
    assert text(said).bounded() == text(said)


def test_half_a_million_two_byte_characters_are_measured_in_bytes() -> None:
    assert text("ü" * (REPLY_BYTES // 2)).bounded().stop_reason == TOO_LARGE


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400", '"Infinity"', '"NaN"', '"1e400"'])
def test_a_number_that_is_none_is_refused_and_its_field_named(number: str) -> None:
    assert refused(f'{{"score": {number}}}', Score).startswith("score: ")


def test_a_number_that_is_none_is_refused_in_tool_input_too() -> None:
    assert refused(tool({"score": float("nan")}), Score).startswith("score: ")


def test_fields_given_twice_are_refused_at_every_level_with_their_paths() -> None:
    twice = '{"amount": 10, "approver":{"id":"a","id":"b"}, "amount": 9000}'
    said = refused(twice, Amount)
    assert "amount: given twice" in said
    assert "approver.id: given twice" in said


@pytest.mark.parametrize("said", [r'{"summary":"done \ud83d"}', r'{"summary":"\ud83d"}'])
def test_half_a_surrogate_pair_is_refused_and_its_field_named(said: str) -> None:
    assert refused(said, Summary).startswith("summary: ")


def test_half_a_surrogate_pair_in_a_field_name_is_refused() -> None:
    assert "surrogate" in refused(r'{"summary":"x", "\ud83d": 1}', Summary)


def test_a_whole_emoji_written_as_two_escapes_is_taken() -> None:
    assert accepted(r'{"summary":"done \ud83d\ude00"}', Summary) == {"summary": "done 😀"}


def test_an_enum_value_is_taken_in_any_case_and_spacing() -> None:
    assert accepted('{"priority":" High"}', Priority) == {"priority": "high"}


def test_a_word_outside_the_enum_is_sent_back_with_the_allowed_ones() -> None:
    said = refused('{"priority":"urgent"}', Priority)
    assert all(member in said for member in ("low", "medium", "high"))


def test_a_decimal_keeps_its_digits() -> None:
    said = accepted('{"qty":3,"price":"12.50","paid":true}', Order)
    assert said == {"qty": 3, "price": "12.50", "paid": True}


@pytest.mark.parametrize(
    "price", ["12345678901234567.89", "0.1000000000000000055511151231257827", "12.50", "1e-7", "3"]
)
def test_a_number_for_a_decimal_keeps_all_its_digits(price: str) -> None:
    verdict = judge(text(f'{{"qty":3,"price":{price},"paid":true}}'), "Order")
    assert isinstance(verdict, Accepted)
    assert cast("Order", verdict.value).price == Decimal(price)


@pytest.mark.parametrize("price", ["1e999999999", "1e-999999999", "0e999999999", "9" * 1_001])
def test_a_decimal_that_nothing_could_write_down_is_sent_back(price: str) -> None:
    assert "digits" in refused(f'{{"qty":3,"price":"{price}","paid":true}}', Order)


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ('{"qty":"1,200","price":"12.50","paid":true}', ["qty"]),
        ('{"qty":true,"price":1,"paid":"no"}', ["qty", "paid"]),
        ('{"qty":1.5,"price":1,"paid":true}', ["qty"]),
        ('{"qty":1e23,"price":1,"paid":true}', ["qty"]),
        ('{"qty":3.00000000000000000001,"price":1,"paid":true}', ["qty"]),
        ('{"qty":3,"paid":true}', ["price"]),
        ('{"qty":3,"price":1,"paid":true,"note":""}', ["note"]),
        ("{}", ["qty", "price", "paid"]),
    ],
)
def test_only_conversions_that_lose_nothing_are_made(said: str, fields: list[str]) -> None:
    violations = refused(said, Order).split("\n")
    assert [violation.split(":")[0] for violation in violations] == fields


@pytest.mark.parametrize("said", ["3", '"3"', "3.0", '" 3 "'])
def test_a_whole_number_is_taken_however_it_is_written(said: str) -> None:
    assert accepted(f'{{"qty":{said},"price":1,"paid":true}}', Order)["qty"] == 3


def test_a_list_that_came_as_a_json_string_is_decoded_once() -> None:
    said = tool({"items": '[{"sku":"A1","qty":2}]'})
    assert accepted(said, Items) == {"items": [{"sku": "A1", "qty": 2}]}


def test_optional_fields_are_converted_like_others_and_null_stays_null() -> None:
    said = tool({"kind": " Order", "qty": "3", "items": '[{"sku":"A1","qty":"2"}]', "note": "7"})
    assert accepted(said, Optionals) == {
        "kind": "order",
        "qty": 3,
        "items": [{"sku": "A1", "qty": 2}],
        "note": "7",
    }
    nothing = tool({"kind": "order", "qty": None, "items": None})
    assert accepted(nothing, Optionals)["items"] is None


@pytest.mark.parametrize(
    "said", ["nothing", "{}", '[{"sku":"A1","qty":NaN}]', '[{"sku":"A1","sku":"A2","qty":1}]', "[["]
)
def test_a_string_that_is_no_such_list_is_sent_back(said: str) -> None:
    assert refused(tool({"items": said}), Items).startswith("items: ")


def test_prose_in_place_of_an_object_is_sent_back() -> None:
    assert "no complete JSON object" in refused("I would rather explain...", Items)


@pytest.mark.parametrize(
    "said",
    ['{"score": ' + "9" * 5_000 + "}", '{"score": ' + "[" * 100_000 + "1" + "]" * 100_000 + "}"],
)
def test_json_that_breaks_the_parser_is_sent_back_and_breaks_nothing_else(said: str) -> None:
    assert refused(said, Score)


def test_tool_input_nested_without_end_is_sent_back() -> None:
    deep: Json = 1
    for _ in range(5_000):
        deep = [deep]
    assert refused(tool({"score": deep}), Score)


def test_an_answer_holds_its_contract_and_is_what_the_model_said() -> None:
    assert accepted(tool(ANSWER), CitedAnswer) == ANSWER
    assert accepted(to_json(ANSWER), CitedAnswer) == ANSWER


@pytest.mark.parametrize(
    "reply",
    [
        text("x" * 100_000),
        text("{" * 50_000),
        tool({"y" * 100_000: 1}),
        tool({f"field_{number}": 1 for number in range(500)}),
        text('{"' + "z" * 50_000 + '":1,"' + "z" * 50_000 + '":2}'),
    ],
)
def test_a_correction_is_bounded_whatever_the_model_said(reply: ModelReply) -> None:
    verdict = judge(reply, "CitedAnswer")
    assert isinstance(verdict, Rejected)
    first = request()
    again = correction(first, reply, verdict.violations)
    bound = EXCERPT_CHARACTERS + VIOLATIONS * (VIOLATION_CHARACTERS + 3) + 200
    assert len(to_json(again)) - len(to_json(first)) < bound * 2, "escapes at most double it"


def test_corrections_start_from_the_first_request_so_they_do_not_pile_up() -> None:
    first = request()
    once = correction(first, text("a" * 9_000), ("text: missing",))
    again = correction(first, text("b" * 9_000), ("text: missing",))
    assert len(once.messages) == len(again.messages) == len(first.messages) + 2


def test_a_correction_alternates_roles_and_has_no_blank_block() -> None:
    again = correction(request(), text("  \n"), ("text: missing",))
    assert [message.role for message in again.messages] == ["user", "assistant", "user"]
    assert all(block.strip() for message in again.messages for block in message.blocks)


def test_a_correction_names_each_violation() -> None:
    again = correction(request(), tool({"text": 1}), ("text: wrong", "answered: missing"))
    assert "- text: wrong\n- answered: missing" in again.messages[-1].blocks[0]
