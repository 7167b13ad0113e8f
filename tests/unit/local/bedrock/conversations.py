"""Conversations that the tests of the local Bedrock share."""

from datetime import UTC, datetime
from typing import Any

JsonObject = dict[str, Any]

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def now() -> datetime:
    return NOON


def user(*texts: str) -> JsonObject:
    return {"role": "user", "content": [{"text": text} for text in texts]}


def assistant(*texts: str) -> JsonObject:
    return {"role": "assistant", "content": [{"text": text} for text in texts]}


def conversation(*messages: JsonObject, **rest: JsonObject | list[JsonObject]) -> JsonObject:
    return {"messages": list(messages), **rest}


def tool(name: str, schema: JsonObject, description: str = "") -> JsonObject:
    spec: JsonObject = {"name": name, "inputSchema": {"json": schema}}
    return {"toolSpec": spec | ({"description": description} if description else {})}


def forced(name: str, schema: JsonObject) -> JsonObject:
    return {"tools": [tool(name, schema)], "toolChoice": {"tool": {"name": name}}}


ANSWER: JsonObject = {
    "type": "object",
    "properties": {
        "answered": {"type": "boolean"},
        "text": {"type": "string"},
        "citations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"passage": {"type": "string"}, "quote": {"type": "string"}},
                "required": ["passage", "quote"],
            },
        },
    },
    "required": ["answered", "text", "citations"],
}
