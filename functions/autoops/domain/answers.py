"""The answer contracts: what a model may be asked to fill, by name."""

import json
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field

from autoops.domain.contracts import Contract, Json
from autoops.errors import InvalidInput


class Quote(Contract):
    """Words of a passage that bear the answer out."""

    passage: Annotated[str, Field(description="id of the passage, such as p1", min_length=1)]
    quote: Annotated[
        str, Field(description="words copied from that passage, unchanged", min_length=1)
    ]


class CitedAnswer(Contract):
    """An answer drawn from the passages alone, with the words that bear it out."""

    answered: Annotated[bool, Field(description="false when the passages do not answer")]
    text: Annotated[str, Field(description="the answer in plain sentences", min_length=1)]
    citations: Annotated[
        tuple[Quote, ...], Field(description="at least one when answered", max_length=12)
    ]


ANSWERS: Final[Mapping[str, type[Contract]]] = {"CitedAnswer": CitedAnswer}


def answer_contract(name: str) -> type[Contract]:
    """The contract by name.

    Raises:
        InvalidInput: no such contract.
    """
    if name not in ANSWERS:
        raise InvalidInput(f"answer: {name} is not one of {', '.join(sorted(ANSWERS))}")
    return ANSWERS[name]


def answer_schema(name: str) -> Json:
    """JSON schema of the contract, inner models in place: not every model follows a `$ref`."""
    schema = answer_contract(name).model_json_schema()
    return _inlined(schema, schema.get("$defs", {}))


def schema_bytes(name: str) -> int:
    """UTF-8 bytes of the schema."""
    return len(json.dumps(answer_schema(name)).encode())


def _inlined(node: Json, definitions: Mapping[str, Json]) -> Json:
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    return {
        key: _inlined(item, definitions)
        for key, item in node.items()
        if key not in ("$defs", "title")
    }
