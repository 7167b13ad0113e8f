"""The settings of a function: the only reader of the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import cache
from typing import Self

from pydantic import TypeAdapter, ValidationError

from autoops.domain.admissions import Limit, Limits
from autoops.domain.contracts import sentence_of
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
        limits: what the calls of each model share; JSON such as
            `{"*": {"concurrency": 20, "requests": 200, "tokens": 200000}}`.
        lease: how long a worker that says nothing is believed to be at work, in seconds.
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
    limits: Limits
    lease: timedelta

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
        values: dict[str, object] = {
            name: environment[variable] for name, variable in names.items()
        }
        values["account_ceiling"] = dollars(environment["ACCOUNT_CEILING"], "ACCOUNT_CEILING")
        values["embedding_dimensions"] = _whole(environment, "EMBEDDING_DIMENSIONS")
        values["lease"] = timedelta(seconds=_whole(environment, "LEASE"))
        values["limits"] = _limits(environment["LIMITS"])
        return cls(**values)  # type: ignore[arg-type]  # one type per field, checked above


def _whole(environment: Mapping[str, str], variable: str) -> int:
    if not environment[variable].isdecimal() or not int(environment[variable]):
        raise InvalidInput(f"environment: {variable} is not a whole number above 0")
    return int(environment[variable])


def _limits(text: str) -> Limits:
    try:
        return TypeAdapter(dict[str, Limit]).validate_json(text)
    except ValidationError as error:
        raise InvalidInput(f"environment: LIMITS: {sentence_of(error)}") from None


@cache
def settings() -> Settings:
    """The settings of this process, read on first use."""
    return Settings.read(os.environ)  # noqa: TID251  # the one reader


def function_version() -> str:
    """Name and version of the running function, as Lambda tells it."""
    name = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "local")  # noqa: TID251  # the one reader
    return f"{name}:{os.environ.get('AWS_LAMBDA_FUNCTION_VERSION', '$LATEST')}"  # noqa: TID251  # as above
