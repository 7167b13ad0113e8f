"""The models of the laptop, put together."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING

from local.bedrock.embeddings import WordLlamaEmbedder
from local.bedrock.extractive.model import ExtractiveModel
from local.bedrock.models import EXTRACTIVE, WORDLLAMA, Models

if TYPE_CHECKING:
    from local.bedrock.openai import OpenAiServer


def local_models(
    *,
    now: Callable[[], datetime],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    server: "OpenAiServer | None" = None,
) -> Models:
    """Serve the two local models and what an OpenAI-compatible server adds."""
    models = Models(now=now, sleep=sleep)
    models.serve_chat(EXTRACTIVE, ExtractiveModel())
    models.serve_embeddings(WORDLLAMA, WordLlamaEmbedder())
    if server is not None:
        for model_id in server.chat:
            models.serve_chat(model_id, server)
        for model_id in server.embeddings:
            models.serve_embeddings(model_id, server)
    return models
