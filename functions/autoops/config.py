"""The settings of a function: the only reader of the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Self

from autoops.domain.money import dollars
from autoops.errors import InvalidInput


@dataclass(frozen=True)
class Settings:
    """What the template tells every function, each field by the variable of its name in capitals.

    Attributes:
        ledger_table: DynamoDB table of runs, money and calls.
        idempotency_table: DynamoDB table of Powertools idempotency.
        artifacts_bucket: S3 bucket of values that travel by reference.
        documents_bucket: S3 bucket that documents are put into.
        vector_bucket: S3 Vectors bucket.
        vector_index: its index.
        text_search: "on" when the index is searchable by words too, else "off".
        event_bus: EventBridge bus that workflow events go to.
        chat_model: model id of questions.
        embedding_model: model id of embeddings.
        embedding_dimensions: length of a vector.
        account_ceiling: most dollars that any run may spend.
        machine_prefix: what stands before a workflow's name in the name of its state machine.
    """

    ledger_table: str
    idempotency_table: str
    artifacts_bucket: str
    documents_bucket: str
    vector_bucket: str
    vector_index: str
    text_search: str
    event_bus: str
    chat_model: str
    embedding_model: str
    embedding_dimensions: int
    account_ceiling: int
    machine_prefix: str

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Settings from variables.

        Raises:
            InvalidInput: names the variable that is missing or no number.
        """
        names = {field.name: field.name.upper() for field in fields(cls)}
        missing = [variable for variable in names.values() if not environment.get(variable)]
        if missing:
            raise InvalidInput(f"environment: {', '.join(missing)} not set; see template.yaml")
        values: dict[str, str | int] = {
            name: environment[variable] for name, variable in names.items()
        }
        values["account_ceiling"] = dollars(environment["ACCOUNT_CEILING"], "ACCOUNT_CEILING")
        if not environment["EMBEDDING_DIMENSIONS"].isdecimal():
            raise InvalidInput("environment: EMBEDDING_DIMENSIONS is not a whole number")
        values["embedding_dimensions"] = int(environment["EMBEDDING_DIMENSIONS"])
        return cls(**values)  # type: ignore[arg-type]  # one type per field, checked above


@cache
def settings() -> Settings:
    """The settings of this process, read on first use."""
    return Settings.read(os.environ)  # noqa: TID251  # the one reader


def function_version() -> str:
    """Name and version of the running function, as Lambda tells it."""
    name = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "local")  # noqa: TID251  # the one reader
    return f"{name}:{os.environ.get('AWS_LAMBDA_FUNCTION_VERSION', '$LATEST')}"  # noqa: TID251  # as above
