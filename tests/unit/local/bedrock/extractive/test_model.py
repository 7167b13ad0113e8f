from typing import Any

from local.bedrock.extractive.answer import REFUSAL
from local.bedrock.extractive.model import INTRODUCTION, ExtractiveModel
from local.bedrock.models import EXTRACTIVE
from local.bedrock.validation import validate_conversation
from unit.local.bedrock.conversations import ANSWER, assistant, conversation, forced, tool, user

PASSAGE = (
    "[guide#1] Guide, Opening hours\nThe library opens at nine in the morning. It is closed on "
    "Sundays.\n\nBooks may be borrowed\nfor three weeks."
)
ASK = user(PASSAGE, "Question: How long may books be borrowed?")
FORCED = {"toolConfig": forced("answer", ANSWER)}


async def converse(request: dict[str, Any]) -> dict[str, Any]:
    validate_conversation(request)
    return await ExtractiveModel().converse(EXTRACTIVE, request)


def block(answer: dict[str, Any]) -> dict[str, Any]:
    [only] = answer["output"]["message"]["content"]
    assert isinstance(only, dict)
    return only


async def test_the_forced_answer_is_cited_with_the_exact_words() -> None:
    answer = await converse(conversation(ASK, **FORCED))
    assert answer["stopReason"] == "tool_use"
    assert block(answer)["toolUse"]["input"] == {
        "answered": True,
        "text": "Books may be borrowed for three weeks.",
        "citations": [{"passage": "guide#1", "quote": "Books may be borrowed\nfor three weeks."}],
    }


async def test_what_the_passages_do_not_answer_is_said_plainly() -> None:
    request = conversation(user(PASSAGE, "Question: Who painted the ceiling?"), **FORCED)
    assert block(await converse(request))["toolUse"]["input"] == {
        "answered": False,
        "text": REFUSAL,
        "citations": [],
    }


async def test_a_correction_gets_the_same_answer_again() -> None:
    first = block(await converse(conversation(ASK, **FORCED)))
    result = {"toolUseId": first["toolUse"]["toolUseId"], "content": [{"text": "Not accepted."}]}
    correction = {"role": "user", "content": [{"toolResult": result}, {"text": "Correct it."}]}
    again = await converse(
        conversation(ASK, {"role": "assistant", "content": [first]}, correction, **FORCED)
    )
    assert block(again)["toolUse"]["input"] == first["toolUse"]["input"]


async def test_without_tools_it_answers_in_text_and_says_what_it_is() -> None:
    answer = await converse(conversation(ASK))
    expected = f"Books may be borrowed for three weeks. [guide#1]\n\n{INTRODUCTION}"
    assert block(answer) == {"text": expected}
    assert answer["stopReason"] == "end_turn"
    assert block(await converse(conversation(user("Hello!")))) == {"text": INTRODUCTION}


async def test_too_few_tokens_stop_it_at_the_limit() -> None:
    text = await converse(conversation(ASK, inferenceConfig={"maxTokens": 5}))
    assert text["stopReason"] == "max_tokens"
    assert text["usage"]["outputTokens"] == 5
    called = await converse(conversation(ASK, inferenceConfig={"maxTokens": 5}, **FORCED))
    assert called["stopReason"] == "max_tokens"
    assert block(called)["toolUse"]["input"] == {}


async def test_of_several_tools_the_one_that_fits_the_question_is_called() -> None:
    by_city = {
        "type": "object",
        "properties": {"city": {"enum": ["Paris", "Rome"]}},
        "required": ["city"],
    }
    tools = [
        tool("search_books", {"type": "object", "properties": {}}, "Search the catalog of books"),
        tool("get_weather", by_city, "Weather forecast of a city"),
    ]
    asked = user("Question: What will the weather be in Rome?")
    called = block(await converse(conversation(asked, toolConfig={"tools": tools})))
    assert called["toolUse"]["name"] == "get_weather"
    assert called["toolUse"]["input"] == {"city": "Rome"}
    result = {"toolUseId": called["toolUse"]["toolUseId"], "content": [{"text": "Sunny."}]}
    done = await converse(
        conversation(
            asked,
            {"role": "assistant", "content": [called]},
            {"role": "user", "content": [{"toolResult": result}]},
            toolConfig={"tools": tools},
        )
    )
    assert done["stopReason"] == "end_turn"


async def test_an_answer_contract_with_references_and_more_fields_is_filled() -> None:
    cited = ANSWER["properties"]["citations"]["items"]
    schema = {
        "$defs": {"Citation": cited},
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "citations": {"type": "array", "items": {"$ref": "#/$defs/Citation"}},
            "language": {"enum": ["english", "french"]},
        },
        "required": ["text", "citations", "language"],
    }
    answer = await converse(conversation(ASK, toolConfig=forced("answer", schema)))
    value = block(answer)["toolUse"]["input"]
    assert list(value) == ["text", "citations", "language"]
    assert value["citations"][0]["passage"] == "guide#1"


async def test_equal_requests_have_equal_answers() -> None:
    request = conversation(user("a"), assistant("b"), ASK, **FORCED)
    assert await converse(request) == await converse(request)
