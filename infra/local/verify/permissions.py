"""Which functions may call a model, and what they change outside: by permissions and layers."""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from local.template.resource import Resource
from local.template.stack import Stack

Json = Any
MODEL_ACTIONS: Final = (
    "bedrock:InvokeModel",
    "bedrock:InvokeModelWithResponseStream",
    "bedrock:InvokeAgent",
    "bedrock:InvokeFlow",
    "bedrock:InvokeInlineAgent",
    "bedrock:RetrieveAndGenerate",
    "bedrock:Rerank",
    "bedrock:StartAsyncInvoke",
    "bedrock-agentcore:InvokeAgentRuntime",
    "sagemaker:InvokeEndpoint",
)
EFFECT_ACTIONS: Final = (
    "ses:SendEmail",
    "ses:SendRawEmail",
    "sns:Publish",
    "sqs:SendMessage",
    "events:InvokeApiDestination",
    "states:InvokeHTTPEndpoint",
    "execute-api:Invoke",
)
MODEL_LIBRARIES: Final = ("langchain-aws", "langchain", "anthropic", "openai", "litellm")
_MODEL: Final = re.compile(r":(?:foundation-model|inference-profile)/(.+)$")
_REQUIREMENT: Final = re.compile(r"^([A-Za-z0-9._-]+)")


@dataclass(frozen=True)
class Allowed:
    """What a function may do.

    Attributes:
        models: it may call a model.
        named: ids of the models, where the permission names them.
        any_model: the permission holds for models that it does not name.
        effects: actions that change something outside.
    """

    models: bool
    named: frozenset[str]
    any_model: bool
    effects: frozenset[str]


def allowed(resource: Resource, stacks: Mapping[str, Stack]) -> Allowed:
    """What the permissions and layers of a function allow.

    Args:
        resource: the function.
        stacks: the stack that each managed policy stands in, by the policy's logical id.
    """
    statements = list(_statements(resource, stacks))
    paid = [one for one in statements if any(_grants(one, action) for action in MODEL_ACTIONS)]
    targets = [target for one in paid for target in _texts(one.get("Resource"))]
    found = [match[1] for match in map(_MODEL.search, targets) if match]
    named = {model for model in found if "*" not in model}
    loads = any(map(_asks_models, _layers(resource)))
    return Allowed(
        models=bool(paid) or loads,
        named=frozenset(named),
        any_model=loads or len(named) < len(set(targets)),
        effects=frozenset(
            action for one in statements for action in EFFECT_ACTIONS if _grants(one, action)
        ),
    )


def policies_in(stack: Stack) -> dict[str, Stack]:
    """The managed policies of a stack and those inside it, by logical id."""
    found = {
        logical_id: stack
        for logical_id, body in stack.resources()
        if body["Type"] in ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy")
    }
    for inner in stack.nested():
        found |= policies_in(inner)
    return found


def _statements(resource: Resource, stacks: Mapping[str, Stack]) -> Iterator[Mapping[str, Json]]:
    policies = resource.stack.resolver(resource.logical_id).value(resource.raw.get("Policies"))
    for policy in policies if isinstance(policies, list) else [policies]:
        if isinstance(policy, str):
            yield from _of_managed(policy, stacks)
        elif isinstance(policy, Mapping):
            yield from _of_document(policy)


def _of_managed(name: str, stacks: Mapping[str, Stack]) -> Iterator[Mapping[str, Json]]:
    stack = stacks.get(name)
    if stack is None:
        service = "bedrock:*" if "Bedrock" in name else ""
        everything = name.rpartition("/")[2] in ("AdministratorAccess", "PowerUserAccess")
        yield {"Effect": "Allow", "Action": "*" if everything else service, "Resource": "*"}
        return
    body = dict(stack.resources())[name]
    document = (body.get("Properties") or {}).get("PolicyDocument")
    yield from _of_document(stack.resolver(name).value(document))


def _of_document(document: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    found = document.get("Statement", ())
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, Mapping) and one.get("Effect") == "Allow":
            yield one


def _grants(statement: Mapping[str, Json], action: str) -> bool:
    return any(
        fnmatch.fnmatchcase(action.lower(), granted.lower())
        for granted in _texts(statement.get("Action"))
    )


def _texts(value: Json) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list) else [value]) if one]


def _layers(resource: Resource) -> Iterator[Path]:
    """The folders of the function's layers."""
    arns = _texts(resource.properties.get("Layers"))
    for logical_id, body in resource.stack.resources():
        location = (body.get("Properties") or {}).get("ContentUri")
        used = any(logical_id in re.split(r"[:/]", arn) for arn in arns)
        if body["Type"].endswith("LayerVersion") and used and isinstance(location, str):
            yield resource.stack.path.parent / location


def _asks_models(layer: Path) -> bool:
    file = layer / "requirements.txt"
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    names = {found[1].lower() for found in map(_REQUIREMENT.match, lines) if found}
    return any(library in names for library in MODEL_LIBRARIES)
