from local.bedrock.extractive.prompt import Passage, read_prompt
from unit.local.bedrock.conversations import assistant, conversation, user


def test_blocks_are_passages_and_the_last_question_counts() -> None:
    prompt = read_prompt(
        conversation(
            user("[a#1] Title, Place\nText of a.\n", "[a#2] Title\n\nText.", "Question: first?"),
            assistant("no"),
            user("The answer breaks the contract.\n\nQuestion: second?"),
        )
    )
    assert prompt.passages == (
        Passage("a#1", "Title, Place", "Text of a.\n"),
        Passage("a#2", "Title", "\nText."),
    )
    assert prompt.question == "second?"


def test_the_first_passage_of_an_id_counts_and_an_empty_one_is_none() -> None:
    prompt = read_prompt(conversation(user("[a] T\none", "[a] T\ntwo", "[b] T\n  \n")))
    assert [passage.text for passage in prompt.passages] == ["one"]


def test_without_the_word_question_everything_written_is_asked() -> None:
    prompt = read_prompt(conversation(user("Please send two books.", "[1] is a footnote")))
    assert prompt.passages == ()
    assert prompt.question == "Please send two books.\n\n[1] is a footnote"
