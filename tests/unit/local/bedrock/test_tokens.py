from hypothesis import given
from hypothesis import strategies as st

from local.bedrock.tokens import count_request, count_text, cut_text, usage
from unit.local.bedrock.conversations import ANSWER, conversation, forced, user


def test_words_cost_a_token_for_each_four_letters_and_punctuation_one_each() -> None:
    assert count_text("a try-block, executed") == 1 + 1 + 1 + 2 + 1 + 2
    assert count_text(" \n\t") == 0


@given(st.text(), st.integers(min_value=0, max_value=50))
def test_a_cut_text_is_a_beginning_of_no_more_tokens(text: str, tokens: int) -> None:
    cut = cut_text(text, tokens)
    assert text.startswith(cut)
    assert count_text(cut) <= tokens


def test_system_tools_and_messages_are_all_paid_for() -> None:
    bare = count_request(conversation(user("hello")))
    with_system = count_request(conversation(user("hello"), system=[{"text": "be kind"}]))
    with_tool = count_request(conversation(user("hello"), toolConfig=forced("answer", ANSWER)))
    assert bare < with_system < with_tool
    assert count_request({}) == 1


def test_usage_adds_up() -> None:
    spent = usage(conversation(user("hello")), [{"text": "good day"}])
    assert spent["totalTokens"] == spent["inputTokens"] + spent["outputTokens"]
    assert spent["outputTokens"] == 2
