"""Models on Bedrock: questions by langchain-aws' Converse client, embeddings by InvokeModel.

One HTTP attempt each; every failure is mapped here and nowhere else.
"""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from autoops.adapters.aws import client, error_code
from autoops.config import settings
from autoops.domain.answers import answer_schema
from autoops.domain.contracts import Json
from autoops.domain.model import Message, ModelReply, ModelRequest
from autoops.domain.passages import Embeddings
from autoops.domain.pricing import Usage
from autoops.domain.vectors import Vectors
from autoops.errors import (
    AutoOpsError,
    ContextTooLong,
    InvalidInput,
    ModelFaulted,
    ModelMisconfigured,
    ModelNotAllowed,
    ModelThrottled,
    ModelTimedOut,
    ModelUnavailable,
)

if TYPE_CHECKING:
    from langchain_aws import ChatBedrockConverse
    from langchain_core.messages import BaseMessage
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

ERRORS: Final[Mapping[str, type[AutoOpsError]]] = {
    "ThrottlingException": ModelThrottled,
    "ServiceUnavailableException": ModelUnavailable,
    "InternalServerException": ModelUnavailable,
    "ModelNotReadyException": ModelUnavailable,
    "ModelStreamErrorException": ModelUnavailable,
    "ModelTimeoutException": ModelTimedOut,
    "ModelErrorException": ModelFaulted,
    "ValidationException": ModelMisconfigured,
    "AccessDeniedException": ModelNotAllowed,
    "ResourceNotFoundException": ModelMisconfigured,
    "ServiceQuotaExceededException": ModelMisconfigured,
}
TOO_LONG: Final = ("too long", "context length", "maximum context", "too many input tokens")
TOOL: Final = "answer"
COHERE_TEXTS: Final = 96
HINT_BYTES: Final = 300


class BedrockChat:
    """`autoops.ports.ChatModel` on Bedrock."""

    def __init__(self, runtime: "BedrockRuntimeClient") -> None:
        self._runtime = runtime

    def converse(self, request: ModelRequest) -> ModelReply:
        """See `ChatModel.converse`; the answer contract goes as a tool that has to be called."""
        kept = _KeptReply(self._runtime)
        chat = self._chat(request, kept)
        schema = answer_schema(request.answer)
        try:
            if chat.supports_tool_choice_values:
                chat.invoke(_messages(request), toolConfig=_tool(chat, schema))
            else:
                chat.invoke(_messages(request, schema))
        except (ClientError, BotoCoreError) as error:
            raise model_error(error) from error
        except (KeyError, ValueError) as error:
            # langchain-aws stumbles over replies without usage and over tool input that is no
            # object; both were paid for, and both are judged from the reply as it came.
            if kept.reply is None:
                raise ModelMisconfigured(
                    f"bedrock: {type(error).__name__} before the call"
                ) from error
        return _reply(kept.reply)

    def _chat(self, request: ModelRequest, kept: "_KeptReply") -> "ChatBedrockConverse":
        from langchain_aws import ChatBedrockConverse

        forced = {"supports_tool_choice_values": ("auto", "any", "tool")}
        return ChatBedrockConverse(
            client=kept,
            bedrock_client=kept,  # only read for inference profiles, which come by table
            model_id=request.model,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            disable_streaming=True,
            **(forced if request.model.startswith("local.") else {}),
        )


class _KeptReply:
    """The runtime client, keeping the reply as it came: what langchain-aws makes of it loses some.

    Attributes:
        reply: Converse's answer, None before the call.
    """

    def __init__(self, runtime: "BedrockRuntimeClient") -> None:
        self._runtime = runtime
        self.reply: Json = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def converse(self, **request: Any) -> Any:
        """Make the call."""
        answer = self._runtime.converse(**request)
        self.reply = copy.deepcopy(answer)
        return answer


class BedrockEmbedder:
    """`autoops.ports.Embedder` on Bedrock: Titan's body one text a call, Cohere's up to 96."""

    def __init__(self, runtime: "BedrockRuntimeClient", model: str, dimensions: int) -> None:
        self._runtime = runtime
        self._model = model
        self._dimensions = dimensions

    @property
    def model(self) -> str:
        """See `Embedder.model`."""
        return self._model

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """See `Embedder.embed`."""
        answers = [self._invoke(body) for body in self._bodies(texts)]
        vectors = [vector for answer in answers for vector in _vectors(answer)]
        if any(len(vector) != self._dimensions for vector in vectors) or len(vectors) != len(texts):
            raise ModelMisconfigured(
                f"embedding model {self._model}: expected {len(texts)} vectors"
                f" of {self._dimensions} dimensions; check EMBEDDING_DIMENSIONS"
            )
        return Embeddings(vectors=Vectors.pack(vectors), usage=_embedding_usage(answers))

    def _bodies(self, texts: Sequence[str]) -> Iterator[Json]:
        if self._model.startswith("amazon.titan"):
            for text in texts:
                yield {"inputText": text, "dimensions": self._dimensions, "normalize": True}
            return
        for start in range(0, len(texts), COHERE_TEXTS):
            group = list(texts[start : start + COHERE_TEXTS])
            yield {"texts": group, "input_type": "search_document"}

    def _invoke(self, body: Json) -> Json:
        try:
            answer = self._runtime.invoke_model(modelId=self._model, body=json.dumps(body))
            return json.loads(answer["body"].read())
        except (ClientError, BotoCoreError) as error:
            raise model_error(error) from error


def model_error(error: Exception) -> AutoOpsError:
    """One of our errors for what botocore raised."""
    code = error_code(error)
    message = str(error)[:HINT_BYTES]
    if code == "ValidationException" and any(sign in message.lower() for sign in TOO_LONG):
        return ContextTooLong("the request is longer than the model takes; send fewer passages")
    if code == "ValidationException" and "on-demand throughput" in message:
        return ModelMisconfigured("the model has no on-demand throughput; use an inference profile")
    if code:
        return ERRORS.get(code, ModelUnavailable)(f"bedrock: {code}{_advice(error, code)}")
    if isinstance(error, ConnectTimeoutError | EndpointConnectionError):
        return ModelUnavailable("bedrock: cannot be reached; check the endpoint and the network")
    if isinstance(error, ReadTimeoutError):
        return ModelTimedOut("bedrock: no answer within the read timeout")
    if isinstance(error, BotoCoreError) and "Connection" in type(error).__name__:
        return ModelTimedOut(f"bedrock: the connection broke ({type(error).__name__})")
    return ModelMisconfigured(f"bedrock: {type(error).__name__}; check region and credentials")


@cache
def chat_model() -> BedrockChat:
    """The chat model of this process."""
    return BedrockChat(client("bedrock-runtime"))


@cache
def embedder() -> BedrockEmbedder:
    """The embedder of this process."""
    return BedrockEmbedder(
        client("bedrock-runtime"), settings().embedding_model, settings().embedding_dimensions
    )


def _advice(error: Exception, code: str) -> str:
    """The laptop's endpoint says which model server is down; that sentence holds no content."""
    if code != "ServiceUnavailableException":
        return ""
    response: Mapping[str, Any] = getattr(error, "response", {})
    return f": {response.get('Error', {}).get('Message', '')}"[:HINT_BYTES]


def _messages(request: ModelRequest, schema: Json = None) -> list["BaseMessage"]:
    from langchain_core.messages import SystemMessage

    system = request.system
    if schema is not None:
        system += f"\n\nReply with one JSON object that holds this schema:\n{json.dumps(schema)}"
    return [SystemMessage(system), *(_turn(message) for message in request.messages)]


def _turn(message: Message) -> "BaseMessage":
    from langchain_core.messages import AIMessage, HumanMessage

    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": text} for text in message.blocks]
    return HumanMessage(blocks) if message.role == "user" else AIMessage(blocks)


def _tool(chat: "ChatBedrockConverse", schema: Json) -> Json:
    described = "Give the answer. Call this once, with every field filled."
    forced = "tool" in (chat.supports_tool_choice_values or ())
    choice = {"tool": {"name": TOOL}} if forced else {"any": {}}
    spec = {"name": TOOL, "description": described, "inputSchema": {"json": schema}}
    return {"tools": [{"toolSpec": spec}], "toolChoice": choice}


def _reply(answer: Json) -> ModelReply:
    """Converse's answer as a reply.

    Raises:
        ModelFaulted: the answer was cut off on its way; whether it was charged is unknown.
    """
    if not answer or "output" not in answer or "stopReason" not in answer:
        raise ModelFaulted("bedrock: the answer was cut off on its way")
    content = answer["output"].get("message", {}).get("content", [])
    called = [block["toolUse"] for block in content if "toolUse" in block]
    return ModelReply(
        stop_reason=answer["stopReason"],
        text="".join(block.get("text", "") for block in content),
        tool_input=next((tool["input"] for tool in called if tool["name"] == TOOL), None),
        usage=_usage(answer.get("usage")),
    )


def _usage(counted: Json) -> Usage | None:
    if not counted:
        return None
    return Usage(
        input=counted.get("inputTokens", 0),
        output=counted.get("outputTokens", 0),
        cache_read=counted.get("cacheReadInputTokens", 0),
        cache_write=counted.get("cacheWriteInputTokens", 0),
    )


def _vectors(answer: Json) -> list[list[float]]:
    if "embedding" in answer:
        return [answer["embedding"]]
    found = answer.get("embeddings")
    rows = found.get("float") if isinstance(found, dict) else found
    if not isinstance(rows, list):
        raise InvalidInput("embedding model: the answer holds no vectors")
    return rows


def _embedding_usage(answers: Sequence[Json]) -> Usage | None:
    counts = [answer.get("inputTextTokenCount") for answer in answers]
    if not all(isinstance(count, int) for count in counts):
        return None
    return Usage(input=sum(counts))
