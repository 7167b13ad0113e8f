"""The models that the local Bedrock serves, what tests script for them, and what was asked."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from local.bedrock import tokens
from local.bedrock.errors import bedrock_error, invalid
from local.bedrock.replies import scripted_answer, truncated
from local.bedrock.scripts import Fault, Script, Scripted
from local.bedrock.validation import validate_conversation
from local.rest import JsonObject

EXTRACTIVE: Final = "local.extractive-v1"
WORDLLAMA: Final = "local.wordllama-v1"

_REMEMBERED: Final = 1_000


class ChatModel(Protocol):
    """Answers conversations."""

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """Answer a valid Converse request with a Converse answer (no metrics needed).

        Raises:
            ServiceError: one of Bedrock's errors.
        """
        ...


class Embedder(Protocol):
    """Turns texts into vectors."""

    async def invoke(self, model_id: str, body: JsonObject) -> JsonObject:
        """Answer an InvokeModel body in Titan's or Cohere's shape.

        Raises:
            ServiceError: one of Bedrock's errors.
        """
        ...


@dataclass(frozen=True)
class Request:
    """One request as it came in, kept so that tests can count and read calls.

    Attributes:
        operation: "converse", "converse-stream", "invoke" or "count-tokens".
        model_id: as the caller named it.
        body: the request's JSON.
        time: when it came, by the injected clock.
    """

    operation: str
    model_id: str
    body: JsonObject
    time: datetime


@dataclass(frozen=True)
class Answer:
    """What goes back to the caller, and what goes wrong on the way."""

    document: JsonObject
    fault: Fault | None = None
    error: str | None = None
    message: str = ""


class Models:
    """A registry of models by id, with scripts in front of them and a log of requests.

    Args:
        now: gives the time for the log and the latency.
        sleep: waits the seconds of a scripted delay.
    """

    def __init__(
        self,
        *,
        now: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._now = now
        self._sleep = sleep
        self._chat: dict[str, ChatModel] = {}
        self._embedders: dict[str, Embedder] = {}
        self._scripts: dict[str, Script] = {}
        self._requests: deque[Request] = deque(maxlen=_REMEMBERED)

    def serve_chat(self, model_id: str, model: ChatModel) -> None:
        """Let a model answer conversations under an id."""
        self._chat[model_id] = model

    def serve_embeddings(self, model_id: str, model: Embedder) -> None:
        """Let a model answer InvokeModel under an id."""
        self._embedders[model_id] = model

    def script(
        self, model_id: str, replies: Iterable[Scripted] | Script, *, repeat: bool = False
    ) -> None:
        """Lay down replies for an id, known or not, in place of those that are left."""
        script = replies if isinstance(replies, Script) else Script(replies, repeat=repeat)
        self._scripts[model_id] = script

    def forget(self) -> None:
        """Drop all scripts and the log of requests."""
        self._scripts.clear()
        self._requests.clear()

    @property
    def ids(self) -> list[str]:
        """The ids that are served, sorted."""
        return sorted({*self._chat, *self._embedders})

    @property
    def requests(self) -> list[Request]:
        """The requests so far, oldest first; of a long session the last 1,000."""
        return list(self._requests)

    def scripted_left(self, model_id: str) -> int:
        """Give how many scripted replies are still to come."""
        script = self._scripts.get(model_id)
        return len(script) if script else 0

    async def converse(self, operation: str, model_id: str, request: JsonObject) -> Answer:
        """Answer Converse or ConverseStream.

        Raises:
            ServiceError: the request is refused, or the model fails.
        """
        started = self._note(operation, model_id, request)
        reply = await self._scripted(model_id, known=model_id in self._chat)
        validate_conversation(request)
        document = await self._converse(model_id, request, reply)
        if reply and reply.fault == "truncate":
            document = truncated(document)
        latency = int((self._now() - started).total_seconds() * 1000)
        return _faulty({"metrics": {"latencyMs": latency}, **document}, reply)

    async def _converse(
        self, model_id: str, request: JsonObject, reply: Scripted | None
    ) -> JsonObject:
        if reply and reply.has_content:
            return scripted_answer(request, reply)
        if model_id not in self._chat:
            raise invalid(f"The script of {model_id} has no content and no model stands behind it.")
        return await self._chat[model_id].converse(model_id, request)

    async def invoke(self, model_id: str, body: JsonObject) -> Answer:
        """Answer InvokeModel.

        Raises:
            ServiceError: the request is refused, or the model fails.
        """
        self._note("invoke", model_id, body)
        reply = await self._scripted(model_id, known=model_id in self._embedders)
        if reply and reply.output is not None:
            return _faulty(reply.output, reply)
        if model_id not in self._embedders:
            raise invalid(f"{model_id} answers Converse only.")
        return _faulty(await self._embedders[model_id].invoke(model_id, body), reply)

    def count_tokens(self, model_id: str, body: JsonObject) -> JsonObject:
        """Answer CountTokens for models whose count is ours; it uses up no script.

        Raises:
            ServiceError: ValidationException, the model has no count.
        """
        self._note("count-tokens", model_id, body)
        counted = model_id == EXTRACTIVE or model_id in self._scripts
        if not counted:
            raise invalid("The provided model doesn't support counting tokens.")
        request = (body.get("input") or {}).get("converse")
        if not isinstance(request, dict):
            raise invalid("input: only the converse form can be counted here.")
        return {"inputTokens": tokens.count_request(request)}

    def _note(self, operation: str, model_id: str, body: JsonObject) -> datetime:
        request = Request(operation, model_id, body, self._now())
        self._requests.append(request)
        return request.time

    async def _scripted(self, model_id: str, *, known: bool) -> Scripted | None:
        script = self._scripts.get(model_id)
        reply = script.take() if script else None
        if reply is None:
            if not known:
                raise invalid(self._unknown(model_id))
            return None
        if reply.delay:
            await self._sleep(reply.delay)
        if reply.error and reply.fault != "stream_error":
            raise bedrock_error(reply.error, reply.message)
        return reply

    def _unknown(self, model_id: str) -> str:
        if model_id in self._scripts:
            return f"The script of {model_id} is used up: the caller asked once too often."
        served = ", ".join(self.ids) or "none"
        return f"The provided model identifier is invalid. Models served here: {served}."


def _faulty(document: JsonObject, reply: Scripted | None) -> Answer:
    if reply is None:
        return Answer(document)
    return Answer(document, reply.fault, reply.error, reply.message)
