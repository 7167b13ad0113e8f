"""What a call claims from its run's budget, from what it will send."""

import hashlib
from collections.abc import Sequence
from typing import Final

from autoops.domain.admissions import CallClaim
from autoops.domain.answers import answer_schema, schema_bytes
from autoops.domain.contracts import Json, to_json
from autoops.domain.forms import output_tokens
from autoops.domain.model import PER_MESSAGE_TOKENS, REQUEST_TOKENS, ModelRequest
from autoops.domain.pricing import price_of

BYTES_PER_TOKEN: Final = 4


def claim_for_request(call: str, request: ModelRequest, counted: int | None = None) -> CallClaim:
    """The claim of one question to a model.

    Args:
        call: its call path.
        request: what will be asked.
        counted: input tokens as the provider counts them ahead, None when it cannot.

    Raises:
        UnpricedModel: no ceiling could hold.
    """
    bound = request.input_bound(schema_bytes(request.answer))
    counted_bound = bound if counted is None else min(bound, counted + REQUEST_TOKENS)
    most = output_tokens(request.model, request.max_tokens)
    worst = price_of(request.model).worst_answer(counted_bound, most, request.tier)
    return CallClaim(
        call=call,
        fingerprint=_fingerprint([request, answer_schema(request.answer)]),
        model=request.model,
        worst=worst,
        prompt=f"{request.prompt.name}@{request.prompt.version}",
        tokens=_about(bound) + most,
    )


def claim_for_texts(call: str, model: str, texts: Sequence[str]) -> CallClaim:
    """The claim of embedding texts.

    Raises:
        UnpricedModel: no ceiling could hold.
    """
    framing = REQUEST_TOKENS + PER_MESSAGE_TOKENS * len(texts)
    tokens = sum(len(text.encode()) for text in texts) + framing
    return CallClaim(
        call=call,
        fingerprint=_fingerprint([model, list(texts)]),
        model=model,
        worst=price_of(model).worst_case(tokens, 0),
        prompt="embed",
        tokens=_about(tokens),
    )


def _about(bound: int) -> int:
    """Tokens as models count text, from a bound in bytes; for limits by the minute only."""
    return -(-bound // BYTES_PER_TOKEN)


def _fingerprint(value: Json) -> str:
    return hashlib.sha256(to_json(value).encode()).hexdigest()
