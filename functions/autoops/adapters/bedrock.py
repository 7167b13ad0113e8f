"""Models on Bedrock: questions by langchain-aws' Converse client, embeddings by InvokeModel.

One HTTP attempt each; every failure is mapped here and nowhere else.
"""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ProxyConnectionError,
    SSLError,
)

from autoops.adapters.aws import client, error_code, http_status, is_network_error, is_transient
from autoops.adapters.langchain import chat_class
from autoops.adapters.tool_inputs import ToolInput, tool_inputs
from autoops.config import settings
from autoops.domain.answers import answer_schema
from autoops.domain.contracts import Json, whole_text
from autoops.domain.forms import Form, enforceable, form_for, output_tokens
from autoops.domain.model import Message, ModelReply, ModelRequest
from autoops.domain.model_ids import table_id
from autoops.domain.passages import Embeddings
from autoops.domain.pricing import Tier, Usage
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
    "Throttling": ModelThrottled,
    "TooManyRequestsException": ModelThrottled,
}
"""What the operations of bedrock-runtime name as their errors, and what stands before them."""
TOO_LONG: Final = (
    "too long",
    "context length",
    "context_length",
    "context window",
    "maximum context",
    "too many input tokens",
    "input tokens exceed",
)
NEVER_SENT: Final = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError)
TOOL: Final = "answer"
BEFORE_PARSE: Final = "before-parse.bedrock-runtime.Converse"
COHERE_TEXTS: Final = 96
HINT_BYTES: Final = 300


class BedrockChat:
    """`autoops.ports.ChatModel` on Bedrock."""

    def __init__(self, runtime: "BedrockRuntimeClient") -> None:
        self._runtime = runtime

    def converse(self, request: ModelRequest) -> ModelReply:
        """See `ChatModel.converse`; the answer contract goes in the form that the model has."""
        kept = _KeptReply(self._runtime)
        form, schema = form_for(request.model), answer_schema(request.answer)
        try:
            chat = self._chat(request, kept)
            chat.invoke(_messages(request, form, schema), **contract_fields(form, schema))
        except Exception as error:
            # langchain-aws words some refusals anew, and stumbles over replies without usage and
            # over tool input that is no object. What counts is what the client said or raised.
            if kept.failure is not None:
                raise model_error(kept.failure) from kept.failure
            if kept.reply is None:
                raise ModelMisconfigured(
                    f"bedrock: {type(error).__name__} before the call"
                ) from error
        return _reply(kept.reply, request.tier, kept.inputs)

    def _chat(self, request: ModelRequest, kept: "_KeptReply") -> "ChatBedrockConverse":
        return chat_class()(
            client=kept,
            bedrock_client=kept,  # only read for inference profiles, which come by table
            model_id=request.model,
            base_model_id=table_id(request.model),
            provider=_provider(request.model),
            max_tokens=output_tokens(request.model, request.max_tokens),
            temperature=request.temperature,
            service_tier=None if request.tier == "default" else request.tier,
            disable_streaming=True,
            supports_tool_choice_values=(),  # not by its name: `models.json` says it
        )


class _KeptReply:
    """The runtime client, keeping what came of the call: langchain-aws makes less of it.

    Attributes:
        reply: Converse's answer, None before the call.
        inputs: of each call of the answer tool, as it came.
        failure: what the client raised in its place.
    """

    def __init__(self, runtime: "BedrockRuntimeClient") -> None:
        self._runtime = runtime
        self.reply: Json = None
        self.inputs: tuple[ToolInput, ...] = ()
        self.failure: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def converse(self, **request: Any) -> Any:
        """Make the call."""
        events = self._runtime.meta.events
        events.register(BEFORE_PARSE, self._read)
        try:
            answer = self._runtime.converse(**request)
            self.reply = copy.deepcopy(answer)
        except Exception as error:
            self.failure = error
            raise
        finally:
            events.unregister(BEFORE_PARSE, self._read)
        return answer

    def _read(self, response_dict: Json, **_: object) -> None:
        self.inputs = tool_inputs(response_dict["body"], TOOL)


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

    @property
    def dimensions(self) -> int:
        """See `Embedder.dimensions`."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """See `Embedder.embed`."""
        answers: list[Json] = []
        for body in self._bodies(texts):
            try:
                answers.append(self._invoke(body))
            except AutoOpsError as error:
                if not answers:
                    raise
                # What came before was charged: the batch as a whole is neither free nor done.
                reason = f"{type(error).__name__} after {len(answers)} requests of the batch"
                raise ModelFaulted(f"bedrock: {reason}") from error
        return Embeddings(vectors=_packed(answers), usage=_embedding_usage(answers))

    def _bodies(self, texts: Sequence[str]) -> Iterator[Json]:
        if table_id(self._model).startswith("amazon.titan"):
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
        except Exception as error:
            raise model_error(error) from error


def model_error(error: Exception) -> AutoOpsError:
    """One of our errors for what a client raised; whatever may have been charged says so."""
    code = error_code(error)
    code = code[:1].upper() + code[1:]  # in a stream an error's name begins with a small letter
    message = str(error)[:HINT_BYTES]
    if code == "ValidationException" and any(sign in message.lower() for sign in TOO_LONG):
        return ContextTooLong("the request is longer than the model takes; send fewer passages")
    if code == "ValidationException" and "on-demand throughput" in message:
        return ModelMisconfigured("the model has no on-demand throughput; use an inference profile")
    if code in ERRORS:
        return ERRORS[code](f"bedrock: {code}{_advice(error, code)}")
    if code:
        return _unlisted(error)(f"bedrock: {code}")
    if isinstance(error, NEVER_SENT) or _is_untrusted(error):
        return ModelUnavailable("bedrock: cannot be reached; check the endpoint and the network")
    if is_network_error(error):
        return ModelTimedOut(f"bedrock: no whole answer came ({type(error).__name__})")
    if isinstance(error, BotoCoreError):
        return ModelMisconfigured(f"bedrock: {type(error).__name__}; check region and credentials")
    return ModelFaulted(f"bedrock: the answer cannot be read ({type(error).__name__})")


def _unlisted(error: Exception) -> type[AutoOpsError]:
    """What a refusal means that no operation names: it comes from what stands before Bedrock."""
    status = http_status(error)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ModelThrottled
    if status in (HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT):
        return ModelTimedOut  # the request went on, and its answer did not come back
    return ModelUnavailable if is_transient(error) else ModelMisconfigured


def _is_untrusted(error: Exception) -> bool:
    """The handshake failed; any other failure of TLS may come after the request was sent."""
    return isinstance(error, SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error)


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


def _provider(model: str) -> str:
    """What langchain-aws asks for beside an ARN; nothing of ours hangs on it."""
    return "" if not model.startswith("arn:") else "unknown"


def _advice(error: Exception, code: str) -> str:
    """The laptop's endpoint says which model server is down; that sentence holds no content."""
    if code != "ServiceUnavailableException":
        return ""
    response: Mapping[str, Any] = getattr(error, "response", {})
    return f": {response.get('Error', {}).get('Message', '')}"[:HINT_BYTES]


def _messages(request: ModelRequest, form: Form, schema: Json) -> list["BaseMessage"]:
    from langchain_core.messages import SystemMessage

    system = SystemMessage(system_text(request, form, schema))
    return [system, *(_turn(message) for message in request.messages)]


def system_text(request: ModelRequest, form: Form, schema: Json) -> str:
    """The operator's instructions, with the answer contract where nothing else carries it."""
    if form is not Form.TEXT:
        return request.system
    asked = "Reply with one JSON object that holds this schema:"
    return f"{request.system}\n\n{asked}\n{json.dumps(schema)}"


def _turn(message: Message) -> "BaseMessage":
    from langchain_core.messages import AIMessage, HumanMessage

    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": text} for text in message.blocks]
    return HumanMessage(blocks) if message.role == "user" else AIMessage(blocks)


def contract_fields(form: Form, schema: Json) -> Json:
    """What of Converse's request carries the answer contract."""
    match form:
        case Form.STRICT_TOOL:
            return {"toolConfig": _tool({"json": enforceable(schema)}, strict=True)}
        case Form.TOOL:
            return {"toolConfig": _tool({"json": schema})}
        case Form.JSON_SCHEMA:
            named = {"name": TOOL, "schema": json.dumps(enforceable(schema))}
            text = {"type": "json_schema", "structure": {"jsonSchema": named}}
            return {"outputConfig": {"textFormat": text}}
        case Form.TEXT:
            return {}


def _tool(schema: Json, **more: bool) -> Json:
    described = "Give the answer. Call this once, with every field filled."
    spec = {"name": TOOL, "description": described, "inputSchema": schema, **more}
    return {"tools": [{"toolSpec": spec}], "toolChoice": {"tool": {"name": TOOL}}}


def _reply(answer: Json, asked: Tier, inputs: Sequence[ToolInput]) -> ModelReply:
    """Converse's answer as a reply.

    Raises:
        ModelFaulted: the answer was cut off on its way; whether it was charged is unknown.
    """
    if not answer or "output" not in answer or "stopReason" not in answer:
        raise ModelFaulted("bedrock: the answer was cut off on its way")
    content = (answer["output"].get("message") or {}).get("content") or []
    called = [block["toolUse"].get("input") for block in content if _calls_the_tool(block)]
    said = [whole_text(block.get("text", "")) for block in content]
    texts = [each.text for each in inputs] or list(map(json.dumps, called))
    one = called[0] if called and all(each == called[0] for each in called) else None
    if one is not None and _is_json(one) and not any(each.lossy for each in inputs):
        texts = []
    else:
        # Judged as text: several answers, fields given twice, numbers and characters that no
        # store can keep.
        one = None
    return ModelReply(
        stop_reason=str(answer["stopReason"]),
        text="".join(said) + "\n".join(texts),
        tool_input=one,
        usage=_usage(answer.get("usage"), answer.get("serviceTier"), asked),
    ).bounded()


def _calls_the_tool(block: Json) -> bool:
    return bool(block.get("toolUse", {}).get("name") == TOOL)


def _is_json(value: Json) -> bool:
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except ValueError:
        return False
    return whole_text(text) == text


def _usage(counted: Json, served: Json, asked: Tier) -> Usage | None:
    """The tokens, None where the reply does not say: unknown is not nothing."""
    kinds = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    tokens = [(counted or {}).get(kind) for kind in kinds]
    if not all(isinstance(count, int) for count in tokens[:2]) or not any(tokens):
        return None
    tier = (served or {}).get("type", asked)
    sent, made, read, written = (count or 0 for count in tokens)
    if min(sent, made, read, written) < 0 or tier not in (asked, "default"):
        return None
    details = counted.get("cacheDetails") or []
    longer = sum(one.get("inputTokens", 0) for one in details if one.get("ttl") != "5m")
    hour = max(0, min(longer, written))
    return Usage(
        input=sent,
        output=made,
        cache_read=read,
        cache_write=written - hour,
        cache_write_hour=hour,
        tier=tier,
    )


def _packed(answers: Sequence[Json]) -> Vectors:
    try:
        return Vectors.pack([row for answer in answers for row in _rows(answer)])
    except (InvalidInput, KeyError, TypeError) as error:
        raise ModelFaulted("embedding model: the answer holds no vectors of one length") from error


def _rows(answer: Json) -> list[list[float]]:
    if "embedding" in answer:
        return [answer["embedding"]]
    found = answer["embeddings"]
    rows: list[list[float]] = found["float"] if isinstance(found, dict) else found
    return rows


def _embedding_usage(answers: Sequence[Json]) -> Usage | None:
    counts = [answer.get("inputTextTokenCount") for answer in answers]
    if not all(isinstance(count, int) for count in counts):
        return None
    return Usage(input=sum(counts))
