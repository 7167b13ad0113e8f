"""Which models the laptop's Bedrock serves: the built-in ones, and a server of the user's own."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from autoops.errors import InvalidInput
from local.bedrock.catalog import local_models
from local.bedrock.models import EXTRACTIVE, WORDLLAMA, Models
from local.bedrock.openai import OpenAiServer

EMBEDDING_DIMENSIONS: Final = 256


@dataclass(frozen=True)
class ModelServer:
    """A model on an OpenAI-compatible server.

    Attributes:
        url: base URL of the server.
        model: the model's name there.
    """

    url: str
    model: str

    @property
    def id(self) -> str:
        """Its id on the laptop's Bedrock; `local.` models cost nothing."""
        return f"local.{self.model}"


def model_server(url: str | None, model: str | None) -> ModelServer | None:
    """The server that options name, None when they name none.

    Raises:
        InvalidInput: only one of both is given, or the URL is none.
    """
    if url is None and model is None:
        return None
    if url is None or model is None:
        raise InvalidInput("model server: give both --model-server URL and --model NAME")
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        example = "http://127.0.0.1:11434/v1"
        raise InvalidInput(f"model server: {url!r} is no URL; give one such as {example}")
    return ModelServer(url, model)


def parameters(server: ModelServer | None) -> dict[str, str]:
    """The template's parameters that choose models, for the laptop."""
    return {
        "ChatModel": server.id if server else EXTRACTIVE,
        "EmbeddingModel": WORDLLAMA,
        "EmbeddingDimensions": str(EMBEDDING_DIMENSIONS),
        "TextSearch": "on",
    }


async def served_models(server: ModelServer | None, now: Callable[[], datetime]) -> Models:
    """The models behind the local Bedrock endpoint.

    Raises:
        ModelServerError: the model server cannot be used; the message names the remedy.
    """
    bridge = OpenAiServer(server.url, chat={server.id: server.model}) if server else None
    if bridge:
        await bridge.check()
    return local_models(now=now, server=bridge)
