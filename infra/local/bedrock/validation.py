"""What Converse refuses before a model sees it, in Bedrock's own sentences."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

from local.bedrock.errors import invalid
from local.rest import JsonObject

STARTS_WITH_USER: Final = (
    "A conversation must start with a user message. "
    "Try again with a conversation that starts with a user message."
)
ENDS_WITH_USER: Final = (
    "This model does not support assistant message prefill. "
    "The conversation must end with a user message."
)
ALTERNATES: Final = (
    "A conversation must alternate between user and assistant roles. "
    "Make sure the conversation alternates between user and assistant roles and try again."
)
NEEDS_TOOL_CONFIG: Final = (
    "The toolConfig field must be defined when using toolUse and toolResult content blocks."
)


def validate_conversation(request: JsonObject) -> None:
    """Check a Converse request as Bedrock does.

    Raises:
        ServiceError: ValidationException, naming the place in the request.
    """
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise invalid("messages: at least one message is required.")
    _check_roles(messages)
    for index, message in enumerate(messages):
        _check_content(message, f"messages.{index}")
    _check_blank(request.get("system") or [], "system", "SystemContentBlock")
    _check_tool_pairs(messages)
    _check_tools(request, messages)
    _check_inference(request.get("inferenceConfig") or {})


def _check_roles(messages: list[Any]) -> None:
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in {"user", "assistant"}:
            raise invalid(f"messages.{index}.role: must be one of [user, assistant].")
    roles = [message["role"] for message in messages]
    if roles[0] != "user":
        raise invalid(STARTS_WITH_USER)
    if any(before == after for before, after in pairwise(roles)):
        raise invalid(ALTERNATES)
    if roles[-1] != "user":
        raise invalid(ENDS_WITH_USER)


def _check_content(message: JsonObject, place: str) -> None:
    content = message.get("content")
    if not isinstance(content, list) or not content:
        raise invalid(
            f"The content field in the Message object at {place} is empty. "
            "Add a ContentBlock object to the content field and try again."
        )
    _check_blank(content, f"{place}.content", "ContentBlock")
    for index, block in enumerate(content):
        if "toolResult" in block:
            _check_tool_result(block["toolResult"], f"{place}.content.{index}.toolResult")


def _check_blank(blocks: list[Any], place: str, kind: str) -> None:
    for index, block in enumerate(blocks):
        if not isinstance(block, dict) or len(block) != 1:
            raise invalid(f"The {kind} object at {place}.{index} must set exactly one key.")
        if "text" in block and not str(block["text"]).strip():
            raise invalid(
                f"The text field in the {kind} object at {place}.{index} is blank. "
                "Add text to the text field, and try again."
            )


def _check_tool_result(result: JsonObject, place: str) -> None:
    for index, block in enumerate(result.get("content") or []):
        if "json" in block and not isinstance(block["json"], dict):
            raise invalid(
                f"The format of the value at {place}.content.{index}.json is invalid. "
                "Provide a json object for the field and try again."
            )
    _check_blank(result.get("content") or [], f"{place}.content", "ContentBlock")


def _ids(message: JsonObject, kind: str) -> list[str]:
    return [block[kind]["toolUseId"] for block in message["content"] if kind in block]


def _check_tool_pairs(messages: list[JsonObject]) -> None:
    used: list[str] = []
    for index, message in enumerate(messages):
        answered = _ids(message, "toolResult")
        if len(answered) > len(used):
            raise invalid(
                f"The number of toolResult blocks at messages.{index}.content exceeds the number "
                "of toolUse blocks of previous turn."
            )
        missing = [name for name in used if name not in answered]
        if missing:
            raise invalid(
                f"Expected toolResult blocks at messages.{index}.content for the following Ids: "
                f"{', '.join(missing)}"
            )
        used = _ids(message, "toolUse")


def _check_tools(request: JsonObject, messages: Iterable[JsonObject]) -> None:
    config = request.get("toolConfig")
    if config is None:
        if any(_ids(m, "toolUse") or _ids(m, "toolResult") for m in messages):
            raise invalid(NEEDS_TOOL_CONFIG)
        return
    names = [tool["name"] for tool in tool_specs(request)]
    if not names:
        raise invalid("toolConfig.tools: at least one tool is required.")
    if len(set(names)) != len(names):
        raise invalid("toolConfig.tools: the names of the tools must be unique.")
    chosen = (config.get("toolChoice") or {}).get("tool")
    if chosen is not None and chosen.get("name") not in names:
        raise invalid(f"toolConfig.toolChoice.tool: no tool is named {chosen.get('name')}.")


def _check_inference(config: JsonObject) -> None:
    tokens = config.get("maxTokens")
    if tokens is not None and (not isinstance(tokens, int) or tokens < 1):
        raise _out_of_range("maxTokens", tokens, "greater than or equal to 1")
    for name in ("temperature", "topP"):
        value = config.get(name)
        if value is not None and not 0 <= value <= 1:
            raise _out_of_range(name, value, "between 0 and 1")


def _out_of_range(name: str, value: object, rule: str) -> Exception:
    return invalid(
        f"1 validation error detected: Value '{value}' at 'inferenceConfig.{name}' failed to "
        f"satisfy constraint: Member must have value {rule}"
    )


def tool_specs(request: JsonObject) -> list[JsonObject]:
    """Give the specifications of the tools that a request offers, in its order."""
    tools = (request.get("toolConfig") or {}).get("tools") or []
    return [tool["toolSpec"] for tool in tools if "toolSpec" in tool]
