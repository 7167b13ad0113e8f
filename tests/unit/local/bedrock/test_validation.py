from typing import Any

import pytest

from local.bedrock.validation import validate_conversation
from local.rest import ServiceError
from unit.local.bedrock.conversations import assistant, conversation, forced, tool, user

SCHEMA = {"type": "object", "properties": {}}
USE = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}


def result(content: list[dict[str, Any]], tool_use_id: str = "t1") -> dict[str, Any]:
    return {"toolResult": {"toolUseId": tool_use_id, "content": content}}


def turn(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


TOOLS = {"toolConfig": {"tools": [tool("look", SCHEMA)]}}
REFUSED = [
    ({}, "at least one message"),
    (conversation(), "at least one message"),
    (conversation(assistant("a"), user("b")), "must start with a user message"),
    (conversation(user("a"), user("b")), "must alternate"),
    (conversation(user("a"), assistant("b")), "must end with a user message"),
    (conversation(turn("system", {"text": "a"})), "must be one of [user, assistant]"),
    (conversation(turn("user")), "messages.0 is empty"),
    (conversation(user("a", " \n")), "messages.0.content.1 is blank"),
    (conversation(user("a"), system=[{"text": ""}]), "system.0 is blank"),
    (conversation(turn("user", {"text": "a", "image": {}})), "exactly one key"),
    (conversation(user("a"), inferenceConfig={"maxTokens": 0}), "'inferenceConfig.maxTokens'"),
    (
        conversation(user("a"), inferenceConfig={"temperature": 1.5}),
        "'inferenceConfig.temperature'",
    ),
    (conversation(user("a"), toolConfig={"tools": []}), "at least one tool"),
    (
        conversation(user("a"), toolConfig={"tools": [tool("x", SCHEMA), tool("x", SCHEMA)]}),
        "must be unique",
    ),
    (
        conversation(
            user("a"), toolConfig={**forced("x", SCHEMA), "toolChoice": {"tool": {"name": "y"}}}
        ),
        "no tool is named y",
    ),
    (conversation(turn("user", result([{"text": "r"}])), **TOOLS), "exceeds the number"),
    (
        conversation(
            user("a"), turn("assistant", USE), turn("user", result([{"text": "r"}], "t2")), **TOOLS
        ),
        "for the following Ids: t1",
    ),
    (conversation(user("a"), turn("assistant", USE), user("b"), **TOOLS), "Ids: t1"),
    (
        conversation(
            user("a"), turn("assistant", USE), turn("user", result([{"json": []}])), **TOOLS
        ),
        "toolResult.content.0.json is invalid",
    ),
    (
        conversation(
            user("a"), turn("assistant", USE), turn("user", result([{"text": " "}])), **TOOLS
        ),
        "is blank",
    ),
    (
        conversation(user("a"), turn("assistant", USE), turn("user", result([{"text": "r"}]))),
        "toolConfig field must be defined",
    ),
]


@pytest.mark.parametrize(("request_body", "sentence"), REFUSED)
def test_what_converse_refuses_is_refused_with_its_sentence(
    request_body: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ServiceError) as refused:
        validate_conversation(request_body)
    assert refused.value.name == "ValidationException"
    assert refused.value.status == 400
    assert sentence in refused.value.message


def test_a_conversation_with_an_answered_tool_call_passes() -> None:
    validate_conversation(
        conversation(
            user("a"),
            turn("assistant", {"text": "I look."}, USE),
            turn("user", result([{"json": {}}, {"text": "r"}]), {"text": "go on"}),
            system=[{"text": "s"}],
            inferenceConfig={"maxTokens": 1, "temperature": 0, "topP": 1},
            **TOOLS,
        )
    )
