"""Makes whole Converse answers out of what a model or a script says."""

import hashlib
import json
from typing import Any

from local.bedrock import tokens
from local.bedrock.scripts import Scripted
from local.bedrock.validation import tool_specs
from local.rest import JsonObject


def converse_answer(
    request: JsonObject,
    content: list[JsonObject],
    stop_reason: str,
    usage: JsonObject | None = None,
) -> JsonObject:
    """Give a Converse answer without metrics, its usage counted when none is given."""
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop_reason,
        "usage": usage or tokens.usage(request, content),
    }


def tool_use(request: JsonObject, name: str, value: Any) -> JsonObject:
    """Give a toolUse block whose id follows from the request, so that runs can be compared."""
    known = json.dumps([request, name, value], sort_keys=True, default=str)
    digest = hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:22]
    return {"toolUse": {"toolUseId": f"tooluse_{digest}", "name": name, "input": value}}


def forced_tool(request: JsonObject) -> str | None:
    """Give the name of the tool that the request forces, or its first tool, or None."""
    choice = (request.get("toolConfig") or {}).get("toolChoice") or {}
    if "tool" in choice:
        return str(choice["tool"]["name"])
    specs = tool_specs(request)
    return str(specs[0]["name"]) if specs else None


def scripted_answer(request: JsonObject, reply: Scripted) -> JsonObject:
    """Give the Converse answer that a script laid down."""
    if reply.output is not None:
        return reply.output
    content: list[JsonObject] = [] if reply.text is None else [{"text": reply.text}]
    calls_tool = reply.tool is not None or reply.input is not None
    if calls_tool:
        name = reply.tool or forced_tool(request) or "tool"
        value = {} if reply.input is None else reply.input
        content.append(tool_use(request, name, value))
    stop_reason = reply.stop_reason or ("tool_use" if calls_tool else "end_turn")
    return converse_answer(request, content, stop_reason, reply.usage)


def truncated(answer: JsonObject) -> JsonObject:
    """Cut an answer in the middle, as a model does that reaches maxTokens."""
    blocks = [_half(block) for block in answer["output"]["message"]["content"]]
    message = {**answer["output"]["message"], "content": blocks}
    return {**answer, "output": {"message": message}, "stopReason": "max_tokens"}


def _half(block: JsonObject) -> JsonObject:
    if "text" in block:
        return {"text": block["text"][: max(1, len(block["text"]) // 2)]}
    if "toolUse" in block and isinstance(block["toolUse"]["input"], dict):
        kept = list(block["toolUse"]["input"].items())[:-1]
        return {"toolUse": {**block["toolUse"], "input": dict(kept)}}
    return block
