"""How many tokens a request holds, as Bedrock will charge them, where it can tell ahead."""

from functools import cache
from typing import TYPE_CHECKING, Any

from autoops.adapters.aws import READ_SECONDS, client
from autoops.adapters.bedrock import contract_fields, system_text
from autoops.domain.answers import answer_schema
from autoops.domain.forms import counted_as, form_for
from autoops.domain.model import ModelRequest

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient


class BedrockTokens:
    """`autoops.ports.TokenCounter` by CountTokens, which costs nothing."""

    def __init__(self, runtime: "BedrockRuntimeClient") -> None:
        self._runtime = runtime

    def count(self, request: ModelRequest) -> int | None:
        """See `TokenCounter.count`; whatever fails, the bound in bytes holds as well."""
        model = counted_as(request.model)
        if model is None:
            return None
        try:
            answer = self._runtime.count_tokens(
                modelId=model, input={"converse": converse_input(request)}
            )
        except Exception:  # noqa: BLE001  # a count is a convenience
            return None
        counted = answer.get("inputTokens")
        return counted if isinstance(counted, int) and counted > 0 else None


def converse_input(request: ModelRequest) -> Any:
    """What Converse is sent of the request, as far as it counts as input."""
    form, schema = form_for(request.model), answer_schema(request.answer)
    fields = contract_fields(form, schema)
    messages = [
        {"role": message.role, "content": [{"text": text} for text in message.blocks]}
        for message in request.messages
    ]
    # CountTokens takes no outputConfig: its schema counts as text of the system.
    schemas = [config for name, config in fields.items() if name == "outputConfig"]
    system = [system_text(request, form, schema), *map(str, schemas)]
    tools = {name: config for name, config in fields.items() if name == "toolConfig"}
    return {"messages": messages, "system": [{"text": text} for text in system], **tools}


@cache
def token_counter() -> BedrockTokens:
    """The counter of this process; it waits no longer than for any other service."""
    return BedrockTokens(client("bedrock-runtime", READ_SECONDS))
