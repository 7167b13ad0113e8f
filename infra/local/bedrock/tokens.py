"""A deterministic count of tokens for models that have no tokenizer of their own.

One token for each run of at most four letters or digits and one for each other visible character,
plus three for every message and tool, which is the order of what hosted models charge for English.
It depends on nothing but the text, so the same request always costs the same.
"""

import json
import re
from typing import Any, Final

from local.rest import JsonObject

_TOKEN: Final = re.compile(r"[^\W_]{1,4}|[^\w\s]|_")
_PER_MESSAGE: Final = 3


def count_text(text: str) -> int:
    """Count the tokens of a text."""
    return len(_TOKEN.findall(text))


def cut_text(text: str, tokens: int) -> str:
    """Give the longest beginning of a text that has at most that many tokens."""
    for number, match in enumerate(_TOKEN.finditer(text)):
        if number == tokens:
            return text[: match.start()].rstrip()
    return text


def count_content(blocks: list[JsonObject]) -> int:
    """Count the tokens of content blocks; what is not text counts as its JSON."""
    return sum(count_text(_text_of(block)) for block in blocks)


def count_request(request: JsonObject) -> int:
    """Count the tokens of a Converse request: system, messages and tools; at least 1."""
    messages = request.get("messages") or []
    tools = (request.get("toolConfig") or {}).get("tools") or []
    total = count_content(request.get("system") or [])
    total += sum(count_content(message["content"]) + _PER_MESSAGE for message in messages)
    total += sum(count_text(_compact(tool)) + _PER_MESSAGE for tool in tools)
    return max(total, 1)


def usage(request: JsonObject, content: list[JsonObject]) -> JsonObject:
    """Give the usage of one call in Converse's shape."""
    inputs, outputs = count_request(request), count_content(content)
    return {"inputTokens": inputs, "outputTokens": outputs, "totalTokens": inputs + outputs}


def _text_of(block: JsonObject) -> str:
    if "text" in block:
        return str(block["text"])
    if "toolUse" in block:
        return f"{block['toolUse'].get('name', '')} {_compact(block['toolUse'].get('input'))}"
    return _compact(block)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
