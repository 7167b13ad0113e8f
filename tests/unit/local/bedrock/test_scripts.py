import pytest

from local.bedrock.scripts import Script, Scripted, script_from, scripted_from
from local.rest import ServiceError


def test_replies_are_used_up_in_order() -> None:
    script = Script([Scripted(text="one"), Scripted(text="two")])
    taken = [script.take() for _ in range(3)]
    assert [reply.text if reply else None for reply in taken] == ["one", "two", None]


def test_a_repeating_script_gives_its_last_reply_for_ever() -> None:
    script = Script([Scripted(text="one"), Scripted(text="two")], repeat=True)
    taken = [script.take() for _ in range(4)]
    assert [reply.text if reply else None for reply in taken] == ["one", "two", "two", "two"]


def test_a_script_is_read_from_json_in_converses_spelling() -> None:
    script = script_from({"replies": [{"text": "a", "stopReason": "max_tokens"}], "repeat": True})
    assert script.take() == Scripted(text="a", stop_reason="max_tokens")
    assert len(script_from([{"error": "ThrottlingException"}])) == 1


@pytest.mark.parametrize(
    "document",
    [
        "text",
        {"replies": "text"},
        [{"txt": "a"}],
        [{"fault": "flood"}],
        [{"delay": -1}],
        [{"delay": "soon"}],
    ],
)
def test_a_script_that_is_not_understood_is_refused(document: object) -> None:
    with pytest.raises(ServiceError) as refused:
        script_from(document)
    assert refused.value.name == "ValidationException"


def test_a_reply_without_content_leaves_the_answer_to_the_model() -> None:
    assert not scripted_from({"delay": 1}).has_content
    assert scripted_from({"input": {}}).has_content
