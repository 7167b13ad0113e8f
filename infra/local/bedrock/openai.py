"""A real model on the laptop: Converse and InvokeModel told to an OpenAI-compatible server."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from local.bedrock import tokens
from local.bedrock.errors import bedrock_error, invalid
from local.bedrock.replies import tool_use
from local.bedrock.validation import tool_specs
from local.rest import JsonObject, ServiceError

if TYPE_CHECKING:
    import httpx

_STOP_REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "content_filtered",
}
_ERRORS: Final = {
    401: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}


class ModelServerError(Exception):
    """The model server cannot be used; the message names the URL and the remedy."""


@dataclass(frozen=True)
class OpenAiServer:
    """An OpenAI-compatible server (Ollama, llama.cpp, vLLM) behind Bedrock model ids.

    Attributes:
        url: base of the API, such as "http://127.0.0.1:11434/v1".
        chat: Bedrock model id to the server's model name, for Converse.
        embeddings: the same for InvokeModel.
        api_key: sent as bearer token when given; never shown.
        timeout: seconds that one call may take.
        transport: replaces the network in tests.
    """

    url: str
    chat: Mapping[str, str] = field(default_factory=dict)
    embeddings: Mapping[str, str] = field(default_factory=dict)
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 300.0
    transport: "httpx.AsyncBaseTransport | None" = field(default=None, repr=False)

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """Answer a Converse request through /chat/completions.

        Raises:
            ServiceError: ServiceUnavailableException when the server is down, naming its URL and
                the remedy; else what its status means to Bedrock.
        """
        body = chat_request(self.chat[model_id], request)
        return chat_answer(request, await self._post("/chat/completions", body))

    async def invoke(self, model_id: str, body: JsonObject) -> JsonObject:
        """Answer an InvokeModel request in Titan's or Cohere's shape through /embeddings.

        Raises:
            ServiceError: as `converse`, and ValidationException for blank text.
        """
        texts = body["texts"] if "texts" in body else [body.get("inputText")]
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise invalid("A text that is not blank is required.")
        told: JsonObject = {"model": self.embeddings[model_id], "input": texts}
        if "dimensions" in body:
            told["dimensions"] = body["dimensions"]
        answer = await self._post("/embeddings", told)
        vectors = self._vectors(answer, len(texts))
        counted = (answer.get("usage") or {}).get("prompt_tokens")
        tokens_in = counted or sum(map(tokens.count_text, texts))
        if "texts" in body:
            return {"embeddings": vectors, "texts": texts, "inputTextTokenCount": tokens_in}
        return {"embedding": vectors[0], "inputTextTokenCount": tokens_in}

    async def check(self) -> None:
        """Make sure at start-up that the server answers and has the mapped models.

        Raises:
            ModelServerError: it does not; the message names the URL and the remedy.
        """
        try:
            answer = await self._send("GET", "/models", None)
        except ServiceError as error:
            raise ModelServerError(error.message) from error
        known = {str(model.get("id")) for model in answer.get("data") or []}
        wanted = {*self.chat.values(), *self.embeddings.values()}
        # Ollama lists "name:latest" for what is asked for as "name".
        missing = sorted(w for w in wanted if not {w, f"{w}:latest"} & known)
        if known and missing:
            raise ModelServerError(
                f"The model server at {self.url} has no model {', '.join(missing)}; it has "
                f"{', '.join(sorted(known))}. Load the model there (Ollama: `ollama pull "
                f"{missing[0]}`) or map another one."
            )

    async def _post(self, path: str, body: JsonObject) -> JsonObject:
        return await self._send("POST", path, body)

    async def _send(self, method: str, path: str, body: JsonObject | None) -> JsonObject:
        import httpx

        headers = {"authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        url = self.url.rstrip("/") + path
        try:
            # A proxy of the environment is never meant for a server on this machine.
            async with httpx.AsyncClient(
                timeout=self.timeout, transport=self.transport, trust_env=False
            ) as client:
                response = await client.request(method, url, json=body, headers=headers)
        except httpx.TimeoutException as error:
            raise bedrock_error(
                "ModelTimeoutException",
                f"The model server at {self.url} did not answer within {self.timeout:g} s.",
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._down(str(error) or type(error).__name__) from error
        return self._read(response)

    def _down(self, reason: str) -> ServiceError:
        return bedrock_error(
            "ServiceUnavailableException",
            f"The model server at {self.url} cannot be reached ({reason}). Start it (Ollama: "
            "`ollama serve`), correct its URL, or use local.extractive-v1, which needs none.",
        )

    def _read(self, response: "httpx.Response") -> JsonObject:
        if response.is_success:
            try:
                document = response.json()
            except ValueError:
                document = None
            if isinstance(document, dict):
                return document
            raise self._failed("ModelErrorException", response)
        default = "ServiceUnavailableException" if response.is_server_error else None
        name = _ERRORS.get(response.status_code, default or "ValidationException")
        raise self._failed(name, response)

    def _failed(self, name: str, response: "httpx.Response") -> ServiceError:
        said = " ".join(response.text.split())[:300] or "nothing"
        return bedrock_error(
            name,
            f"The model server at {self.url} answered {response.status_code}: {said} "
            "Look into its log, or use local.extractive-v1, which needs no server.",
        )

    def _vectors(self, answer: JsonObject, expected: int) -> list[list[float]]:
        data = sorted(answer.get("data") or [], key=lambda item: int(item.get("index", 0)))
        vectors = [item["embedding"] for item in data]
        if len(vectors) != expected or not all(any(vector) for vector in vectors):
            raise bedrock_error(
                "ModelErrorException",
                f"The model server at {self.url} gave no usable vector for each text.",
            )
        return vectors


def chat_request(model: str, request: JsonObject) -> JsonObject:
    """Tell a Converse request as a body of /chat/completions."""
    messages = (
        [{"role": "system", "content": _texts(request["system"])}] if _has_system(request) else []
    )
    for message in request["messages"]:
        messages.extend(_chat_messages(message))
    config = request.get("inferenceConfig") or {}
    body: JsonObject = {"model": model, "messages": messages, "stream": False}
    names = {"maxTokens": "max_tokens", "temperature": "temperature", "topP": "top_p"}
    body |= {told: config[name] for name, told in names.items() if config.get(name) is not None}
    if config.get("stopSequences"):
        body["stop"] = config["stopSequences"]
    return body | _chat_tools(request)


def _has_system(request: JsonObject) -> bool:
    return any("text" in block for block in request.get("system") or [])


def _texts(blocks: list[JsonObject]) -> str:
    return "\n\n".join(str(block["text"]) for block in blocks if "text" in block)


def _chat_messages(message: JsonObject) -> list[JsonObject]:
    blocks = message["content"]
    results = [_tool_message(block["toolResult"]) for block in blocks if "toolResult" in block]
    calls = [_tool_call(block["toolUse"]) for block in blocks if "toolUse" in block]
    text = _texts(blocks)
    if calls:
        return [{"role": "assistant", "content": text or None, "tool_calls": calls}]
    return results + ([{"role": message["role"], "content": text}] if text else [])


def _tool_message(result: JsonObject) -> JsonObject:
    parts = [
        json.dumps(part["json"], ensure_ascii=False)
        if "json" in part
        else str(part.get("text", ""))
        for part in result.get("content") or []
    ]
    return {"role": "tool", "tool_call_id": result["toolUseId"], "content": "\n".join(parts)}


def _tool_call(use: JsonObject) -> JsonObject:
    arguments = json.dumps(use.get("input", {}), ensure_ascii=False)
    return {
        "id": use["toolUseId"],
        "type": "function",
        "function": {"name": use["name"], "arguments": arguments},
    }


def _chat_tools(request: JsonObject) -> JsonObject:
    specs = tool_specs(request)
    if not specs:
        return {}
    tools = [{"type": "function", "function": _function(spec)} for spec in specs]
    choice = request["toolConfig"].get("toolChoice") or {}
    told: JsonObject = {"tools": tools}
    if "tool" in choice:
        told["tool_choice"] = {"type": "function", "function": {"name": choice["tool"]["name"]}}
    elif "any" in choice:
        told["tool_choice"] = "required"
    return told


def _function(spec: JsonObject) -> JsonObject:
    told = {"name": spec["name"], "parameters": spec["inputSchema"]["json"]}
    return told | ({"description": spec["description"]} if spec.get("description") else {})


def chat_answer(request: JsonObject, answer: JsonObject) -> JsonObject:
    """Tell an answer of /chat/completions as Converse's.

    Raises:
        ServiceError: ModelErrorException, the answer holds no choice.
    """
    choices = answer.get("choices") or []
    if not choices:
        raise bedrock_error("ModelErrorException", "The model server answered without a choice.")
    message, finish = choices[0].get("message") or {}, choices[0].get("finish_reason")
    calls = message.get("tool_calls") or []
    content: list[JsonObject] = [{"text": message["content"]}] if message.get("content") else []
    content.extend(_used(request, call) for call in calls)
    stop_reason = _STOP_REASONS.get(str(finish), str(finish))
    # Some servers say "stop" although the answer is a call.
    if calls and stop_reason == "end_turn":
        stop_reason = "tool_use"
    if stop_reason == "tool_use" and not all(
        "toolUse" in block for block in content[-len(calls) :]
    ):
        stop_reason = "malformed_tool_use"
    usage = _usage(request, content, answer.get("usage") or {})
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop_reason,
        "usage": usage,
    }


def _used(request: JsonObject, call: JsonObject) -> JsonObject:
    """Tell a call; arguments that are no object stay the text that the model wrote.

    A toolUse block with anything else than an object would break the client that reads it, and
    nobody could ask the model for a correction.
    """
    function = call.get("function") or {}
    arguments = function.get("arguments") or "{}"
    try:
        value: Any = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return {"text": str(arguments)}
    return tool_use(request, str(function.get("name", "")), value)


def _usage(request: JsonObject, content: list[JsonObject], told: JsonObject) -> JsonObject:
    counted = tokens.usage(request, content)
    inputs = int(told.get("prompt_tokens") or counted["inputTokens"])
    outputs = int(told.get("completion_tokens") or counted["outputTokens"])
    return {"inputTokens": inputs, "outputTokens": outputs, "totalTokens": inputs + outputs}
