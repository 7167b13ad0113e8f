"""Tells a whole Converse answer as the events of ConverseStream."""

import json
from collections.abc import Iterator
from typing import Final

from local.rest import JsonObject

Event = tuple[str, JsonObject]

_PIECE: Final = 24


def stream_events(answer: JsonObject) -> Iterator[Event]:
    """Give (event type, payload) in Bedrock's order, ending with messageStop and metadata."""
    message = answer["output"]["message"]
    yield "messageStart", {"role": message.get("role", "assistant")}
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    yield "messageStop", {"stopReason": answer["stopReason"]}
    metadata: JsonObject = {name: answer[name] for name in ("usage", "metrics") if name in answer}
    yield "metadata", metadata


def _block_events(index: int, block: JsonObject) -> Iterator[Event]:
    if "toolUse" in block:
        start = {name: block["toolUse"][name] for name in ("toolUseId", "name")}
        yield "contentBlockStart", {"start": {"toolUse": start}, "contentBlockIndex": index}
    for delta in _deltas(block):
        yield "contentBlockDelta", {"delta": delta, "contentBlockIndex": index}
    yield "contentBlockStop", {"contentBlockIndex": index}


def _deltas(block: JsonObject) -> Iterator[JsonObject]:
    if "text" in block:
        yield from ({"text": piece} for piece in _pieces(block["text"]))
    if "toolUse" in block:
        text = json.dumps(block["toolUse"].get("input", {}), ensure_ascii=False)
        yield from ({"toolUse": {"input": piece}} for piece in _pieces(text))
    if "reasoningContent" in block:
        text = block["reasoningContent"].get("reasoningText", {}).get("text", "")
        yield from ({"reasoningContent": {"text": piece}} for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
