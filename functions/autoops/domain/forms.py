"""In which form an answer contract goes out to a model, and how long the answer may get."""

import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final, Literal

from autoops.domain.contracts import Contract, Json
from autoops.domain.model_ids import table_id

LOCAL: Final = "local.*"
ENFORCED: Final = frozenset(
    {"$defs", "$ref", "additionalProperties", "anyOf", "const", "default", "description", "enum"}
    | {"format", "items", "properties", "required", "type"}
)
"""What grammars that enforce a schema take; lengths and ranges they refuse, and we check them."""


class Form(StrEnum):
    """How the contract is sent, from the strictest on."""

    STRICT_TOOL = "strict_tool"
    JSON_SCHEMA = "json_schema"
    TOOL = "tool"
    TEXT = "text"


class Abilities(Contract):
    """What a model does about structured output; a row of models.json."""

    tools: Literal["strict", "tools", "none"]
    json_schema: bool
    most_output: int
    counts_as: str | None

    @property
    def form(self) -> Form:
        """The strictest form that the model has."""
        if self.tools == "strict":
            return Form.STRICT_TOOL
        if self.json_schema:
            return Form.JSON_SCHEMA
        return Form.TOOL if self.tools == "tools" else Form.TEXT


def form_for(model: str) -> Form:
    """The form by the exact model id; text with the schema, which every model takes, for others."""
    abilities = _abilities(model)
    return Form.TEXT if abilities is None else abilities.form


def output_tokens(model: str, wanted: int) -> int:
    """What to ask for: as many as wanted, and never more than the model makes."""
    abilities = _abilities(model)
    return wanted if abilities is None else min(wanted, abilities.most_output)


def counted_as(model: str) -> str | None:
    """The foundation model whose CountTokens counts for the model, None when there is none."""
    abilities = _abilities(model)
    return None if abilities is None else abilities.counts_as


def enforceable(schema: Json) -> Json:
    """The schema with only what an enforcing grammar takes."""
    kept = {name: item for name, item in schema.items() if name in ENFORCED}
    if "properties" in kept:
        kept["properties"] = {name: enforceable(item) for name, item in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = enforceable(kept["items"])
    if "anyOf" in kept:
        kept["anyOf"] = [enforceable(one) for one in kept["anyOf"]]
    return kept


def _abilities(model: str) -> Abilities | None:
    rows = abilities_table()
    row = LOCAL if model.startswith("local.") else table_id(model)
    return rows.get(model) or rows.get(row)


@cache
def abilities_table() -> Mapping[str, Abilities]:
    """The shipped rows by model id."""
    rows = json.loads((Path(__file__).parent / "models.json").read_text("utf-8"))["models"]
    return {model: Abilities.read(row) for model, row in rows.items()}
