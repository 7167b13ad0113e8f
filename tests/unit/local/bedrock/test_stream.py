import json

from local.bedrock.replies import converse_answer
from local.bedrock.stream import stream_events
from unit.local.bedrock.conversations import conversation, user

VALUE = {"text": "a long answer that takes more than one piece", "answered": True}


def test_the_pieces_of_a_stream_put_together_are_the_answer() -> None:
    use = {"toolUse": {"toolUseId": "t", "name": "answer", "input": VALUE}}
    thought = {"reasoningContent": {"reasoningText": {"text": "let me think"}}}
    answer = converse_answer(
        conversation(user("q")),
        [thought, {"text": "Here is what I found for you:"}, use],
        "tool_use",
    )
    events = list(stream_events(answer))
    deltas = [body["delta"] for kind, body in events if kind == "contentBlockDelta"]
    assert "".join(d.get("text", "") for d in deltas) == "Here is what I found for you:"
    assert json.loads("".join(d["toolUse"]["input"] for d in deltas if "toolUse" in d)) == VALUE
    assert [kind for kind, _ in events][-2:] == ["messageStop", "metadata"]
    assert events[-2][1] == {"stopReason": "tool_use"}
    assert events[-1][1]["usage"] == answer["usage"]
    assert events[0] == ("messageStart", {"role": "assistant"})
