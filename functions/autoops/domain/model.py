"""One question to a model and its reply, whichever model it is."""

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field

from autoops.domain.contracts import Contract, Json, to_json
from autoops.domain.pricing import Tier, Usage

PER_MESSAGE_TOKENS = 64
"""Tokens that a provider's own framing may add to a message or block."""
REQUEST_TOKENS = 1_024
"""Tokens that a provider may add for tools and system framing."""

REPLY_BYTES: Final = 1024 * 1024
"""A reply of more than this is no answer: the most output we allow is far below."""
TOO_LARGE: Final = "reply_too_large"
"""Stop reason of a reply that was too large to keep; ours, no model's."""

Text = Annotated[str, Field(pattern=r"\S")]
"""Models refuse a blank block, and every later call of the conversation with it."""


class Message(Contract):
    """One turn; each block is one text block of its own, so no text can pose as another block."""

    role: Literal["user", "assistant"]
    blocks: Annotated[tuple[Text, ...], Field(min_length=1)]


def _taking_turns(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    if [message.role for message in messages[::2]] != ["user"] * ((len(messages) + 1) // 2):
        raise ValueError("turns have to start with the user")
    if any(message.role == "user" for message in messages[1::2]):
        raise ValueError("turns have to alternate")
    return messages


class PromptVersion(Contract):
    """Which prompt a request was made from."""

    name: str
    version: int


class ModelRequest(Contract):
    """Everything that decides what a model answers.

    Attributes:
        model: Bedrock model id, inference profile id or ARN.
        prompt: the prompt it was made from.
        system: the operator's instructions; never holds retrieved or user text.
        messages: turns that alternate and start with the user.
        answer: name of the answer contract, a key of `autoops.domain.answers.ANSWERS`.
        max_tokens: most output tokens; the model's own limit holds over it.
        temperature: 0 for the steadiest answer.
        tier: Bedrock's service tier to ask for.
    """

    model: str
    prompt: PromptVersion
    system: Text
    messages: Annotated[tuple[Message, ...], Field(min_length=1), AfterValidator(_taking_turns)]
    answer: str
    max_tokens: Annotated[int, Field(gt=0, le=64_000)]
    temperature: Annotated[float, Field(ge=0, le=1)] = 0.0
    tier: Tier = "default"

    def input_bound(self, schema_bytes: int) -> int:
        """Input tokens that the request cannot pass: no tokenizer makes more tokens than bytes.

        Args:
            schema_bytes: UTF-8 bytes of the answer's JSON schema, which travels with the request.
        """
        blocks = [block for message in self.messages for block in message.blocks]
        framing = REQUEST_TOKENS + PER_MESSAGE_TOKENS * (len(blocks) + 1)
        return framing + schema_bytes + _bytes(self.system) + sum(map(_bytes, blocks))


class ModelReply(Contract):
    """What came back, before anything is believed of it.

    Attributes:
        stop_reason: as Converse gives it; decides before anything is parsed.
        text: all text blocks joined.
        tool_input: input of the answer tool, None when the model did not call it.
        usage: tokens, None when the reply did not say.
    """

    stop_reason: str
    text: str
    tool_input: Json = None
    usage: Usage | None

    def bounded(self) -> Self:
        """The reply, or only its size and price when it is too large: never half of it."""
        size = len(to_json(self).encode())
        if size <= REPLY_BYTES:
            return self
        gone = {"stop_reason": TOO_LARGE, "text": f"{size} bytes", "tool_input": None}
        return self.model_copy(update=gone)


def _bytes(text: str) -> int:
    return len(text.encode())
