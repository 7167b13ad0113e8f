"""Every failure that boto3, botocore and langchain know has its place in the one map of errors."""

import inspect
from collections.abc import Iterator
from typing import Any

import botocore.exceptions
import pytest
from botocore.exceptions import BotoCoreError, HTTPClientError, IncompleteReadError
from botocore.exceptions import ConnectionError as NotConnectedError
from botocore.parsers import ResponseParserError
from botocore.session import get_session
from langchain_core import exceptions as langchain

from autoops import errors
from autoops.adapters import bedrock
from autoops.adapters.aws import translated
from autoops.adapters.bedrock import ERRORS, NEVER_SENT, BedrockChat, model_error
from autoops.errors import (
    AutoOpsError,
    DependencyUnavailable,
    InvalidInput,
    ModelFaulted,
    ModelMisconfigured,
    ModelNotAllowed,
    ModelTimedOut,
    ModelUnavailable,
    TryAgain,
)
from samples import ANSWER, request
from unit.adapters.service import Service
from unit.adapters.test_bedrock import called, converse

OPERATIONS = (
    "Converse",
    "ConverseStream",
    "InvokeModel",
    "InvokeModelWithResponseStream",
    "CountTokens",
)
HEALS = (
    *("Throttl", "TooMany", "Unavailable", "InternalServer", "NotReady"),
    *("Timeout", "ModelError", "ModelStreamError"),
)
OUTCOME_UNKNOWN = (ModelTimedOut, ModelFaulted)


def named(operation: str) -> Iterator[str]:
    """The errors of an operation, and those that its stream may carry."""
    model = get_session().get_service_model("bedrock-runtime")
    shapes = model.operation_model(operation)
    yield from (shape.name for shape in shapes.error_shapes)
    output: Any = shapes.output_shape
    for member in output.members.values():
        if getattr(member, "is_document_type", False) or not hasattr(member, "members"):
            continue
        yield from (
            one.name for one in member.members.values() if one.metadata.get("exception", False)
        )


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_error_that_an_operation_names_is_left_out_of_the_map(operation: str) -> None:
    missing = set(named(operation)) - ERRORS.keys()
    assert not missing, f"{operation}: add {', '.join(sorted(missing))} to ERRORS"


def test_what_may_heal_is_tried_again_and_nothing_else() -> None:
    for code, ours in ERRORS.items():
        assert issubclass(ours, TryAgain) is any(sign in code for sign in HEALS), code


def failures() -> list[Exception]:
    """One of each exception of botocore, bare: only its type decides."""
    kinds: list[type[Exception]] = [
        kind
        for _, kind in inspect.getmembers(botocore.exceptions, inspect.isclass)
        if issubclass(kind, BotoCoreError)
    ]
    kinds.append(ResponseParserError)
    return [kind.__new__(kind) for kind in kinds]


@pytest.mark.parametrize("failure", failures(), ids=lambda failure: type(failure).__name__)
def test_of_every_failure_without_an_answer_it_is_known_whether_it_may_have_been_charged(
    failure: Exception,
) -> None:
    on_the_way = (NotConnectedError, HTTPClientError, IncompleteReadError, ResponseParserError)
    ours = type(model_error(failure))
    if isinstance(failure, NEVER_SENT):
        assert ours is ModelUnavailable
    elif isinstance(failure, on_the_way):
        assert ours is ModelTimedOut
    else:
        assert ours is ModelMisconfigured, "our own doing: no retry helps and nothing was sent"
    store = type(translated(failure, "s3"))
    assert store is (DependencyUnavailable if isinstance(failure, on_the_way) else InvalidInput)


class Stumbling:
    """Stands for langchain-aws: raises before it calls the client, or after."""

    def __init__(self, error: Exception, *, after: bool) -> None:
        self.error = error
        self.after = after

    def __call__(self, client: Any, **_: Any) -> "Stumbling":
        self.client = client
        return self

    def invoke(self, *_: Any, **__: Any) -> None:
        try:
            if self.after:
                self.client.converse(
                    modelId="m", messages=[{"role": "user", "content": [{"text": "Why?"}]}]
                )
        finally:
            raise self.error


def stumbles(
    monkeypatch: pytest.MonkeyPatch, error: Exception, service: Service, *, after: bool
) -> BedrockChat:
    monkeypatch.setattr(bedrock, "chat_class", lambda: Stumbling(error, after=after))
    return BedrockChat(service.client("bedrock-runtime"))


OF_LANGCHAIN = [
    kind("canary")
    for _, kind in inspect.getmembers(langchain, inspect.isclass)
    if issubclass(kind, langchain.LangChainException)
]
ODD = [*OF_LANGCHAIN, KeyError("canary"), IndexError("canary"), RecursionError("canary")]


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
def test_a_reply_that_came_is_judged_whatever_langchain_makes_of_it(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service().says(converse([called(ANSWER)]))
    reply = stumbles(monkeypatch, error, service, after=True).converse(request())
    assert reply.tool_input == ANSWER


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
def test_what_langchain_refuses_before_the_call_was_not_charged(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service()
    with pytest.raises(ModelMisconfigured, match="before the call") as raised:
        stumbles(monkeypatch, error, service, after=False).converse(request())
    assert "canary" not in str(raised.value)
    assert service.requests == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("AccessDeniedException", "not authorized to perform bedrock:InvokeTool"),
        ("ValidationException", "Input is too long for requested model."),
    ],
)
def test_what_langchain_words_anew_means_what_bedrock_said(code: str, message: str) -> None:
    service = Service().fails(code, 400, message)
    ours = ModelNotAllowed if code == "AccessDeniedException" else errors.ContextTooLong
    with pytest.raises(ours):
        BedrockChat(service.client("bedrock-runtime")).converse(request())


@pytest.mark.parametrize("body", [b'{"output": "\xff"}', b'{"output": ' + b"[" * 100_000])
def test_an_answer_that_cannot_be_read_was_paid_for_all_the_same(body: bytes) -> None:
    service = Service([(200, body)])
    with pytest.raises(AutoOpsError) as raised:
        BedrockChat(service.client("bedrock-runtime")).converse(request())
    assert type(raised.value) in OUTCOME_UNKNOWN
