"""local.extractive-v1: answers by quoting what it was given. Costs nothing; no language model."""

import asyncio
from dataclasses import asdict
from typing import Any, Final

from local.bedrock import tokens
from local.bedrock.embeddings import wordllama
from local.bedrock.extractive.answer import Quoted, answer
from local.bedrock.extractive.prompt import Prompt, read_prompt
from local.bedrock.extractive.schema import fill, resolved
from local.bedrock.lexical import terms
from local.bedrock.replies import converse_answer, tool_use
from local.bedrock.validation import tool_specs
from local.rest import JsonObject

INTRODUCTION: Final = (
    "This is local.extractive-v1, no language model: it quotes the passages it is given."
)


class ExtractiveModel:
    """Answers Converse deterministically from the text of the request."""

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:  # noqa: ARG002 - every model is asked so
        """Call the tool that is forced or fits best, or answer in text; never raises."""
        return await asyncio.to_thread(_converse, request)


def warm() -> None:
    """Load what the first answer would load, about 0.3 s."""
    wordllama().embed(["warm"])


def _converse(request: JsonObject) -> JsonObject:
    prompt = read_prompt(request)
    tool = _tool(request, prompt)
    if tool is None:
        return _text_answer(request, prompt)
    return _tool_answer(request, tool, _tool_input(tool, prompt))


def _tool(request: JsonObject, prompt: Prompt) -> JsonObject | None:
    """Give the forced tool, or the one whose words fit the question best, or None for text."""
    specs = tool_specs(request)
    choice = (request.get("toolConfig") or {}).get("toolChoice") or {}
    if "tool" in choice:
        return next(spec for spec in specs if spec["name"] == choice["tool"]["name"])
    is_answered = any("toolResult" in block for block in request["messages"][-1]["content"])
    if not specs or (is_answered and "any" not in choice):
        return None
    asked = set(terms(prompt.question))
    return max(specs, key=lambda spec: len(asked & set(terms(_words_of(spec)))))


def _words_of(spec: JsonObject) -> str:
    return f"{spec['name'].replace('_', ' ')} {spec.get('description', '')}"


def _tool_input(tool: JsonObject, prompt: Prompt) -> Any:
    schema = tool["inputSchema"]["json"]
    contract = _answer_fields(schema)
    if contract and (prompt.passages or contract["citations"] in schema.get("required", [])):
        return _fill_answer(contract, answer(prompt.question, prompt.passages), schema, prompt)
    return fill(schema, prompt.text)


def _answer_fields(schema: JsonObject) -> dict[str, str] | None:
    """Find the fields of a cited answer by shape: a text, a list with quotes, perhaps a flag."""
    inner = {k: resolved(schema, v) for k, v in (schema.get("properties") or {}).items()}
    kinds = {name: found.get("type") for name, found in inner.items()}
    quotes = [name for name in inner if kinds[name] == "array" and _quotes(schema, inner[name])]
    texts = [name for name in ("text", "answer", "response") if kinds.get(name) == "string"]
    if not quotes or not texts:
        return None
    flags = [name for name in ("answered", "is_answered", "found") if kinds.get(name) == "boolean"]
    found = {"citations": quotes[0], "text": texts[0]}
    return {**found, "answered": flags[0]} if flags else found


def _quotes(root: JsonObject, array: JsonObject) -> bool:
    items = resolved(root, array.get("items") or {})
    return {"passage", "quote"} <= set(items.get("properties") or {})


def _fill_answer(
    fields: dict[str, str], quoted: Quoted, schema: JsonObject, prompt: Prompt
) -> JsonObject:
    value: JsonObject = {
        fields["text"]: quoted.text,
        fields["citations"]: [asdict(citation) for citation in quoted.citations],
    }
    if "answered" in fields:
        value[fields["answered"]] = quoted.answered
    missing = [name for name in schema.get("required", []) if name not in value]
    if missing:
        inner = {name: schema["properties"][name] for name in missing}
        rest = fill({**schema, "properties": inner, "required": missing}, prompt.question)
        value.update(rest)
    return {name: value[name] for name in schema["properties"] if name in value}


def _max_tokens(request: JsonObject) -> int | None:
    value = (request.get("inferenceConfig") or {}).get("maxTokens")
    return int(value) if value is not None else None


def _tool_answer(request: JsonObject, tool: JsonObject, value: Any) -> JsonObject:
    block = tool_use(request, tool["name"], value)
    limit = _max_tokens(request)
    if limit is None or tokens.count_content([block]) <= limit:
        return converse_answer(request, [block], "tool_use")
    return _cut_short(request, [{"toolUse": {**block["toolUse"], "input": {}}}], limit)


def _text_answer(request: JsonObject, prompt: Prompt) -> JsonObject:
    text = INTRODUCTION
    if prompt.passages:
        quoted = answer(prompt.question, prompt.passages)
        sources = "".join(f" [{citation.passage}]" for citation in quoted.citations)
        text = f"{quoted.text}{sources}\n\n{INTRODUCTION}"
    limit = _max_tokens(request)
    if limit is None or tokens.count_text(text) <= limit:
        return converse_answer(request, [{"text": text}], "end_turn")
    return _cut_short(request, [{"text": tokens.cut_text(text, limit)}], limit)


def _cut_short(request: JsonObject, content: list[JsonObject], limit: int) -> JsonObject:
    usage = tokens.usage(request, content)
    usage |= {"outputTokens": limit, "totalTokens": usage["inputTokens"] + limit}
    return converse_answer(request, content, "max_tokens", usage)
