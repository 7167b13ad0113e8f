"""Values that travel by reference, so that they stay out of execution histories and logs."""

import hashlib
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, Field

from autoops.domain.contracts import Contract, Json

LARGE_BYTES: Final = 32 * 1024
"""A `Large` value above this many UTF-8 bytes of JSON goes to the artifact store."""

T = TypeVar("T")


@dataclass(frozen=True)
class ByReference:
    """Marks a field whose value goes to the artifact store: always, or when it is large."""

    when: Literal["always", "large"]


Private = Annotated[T, ByReference("always")]
"""Questions, prompts, answers, documents, personal data: never in a history or a log."""

Large = Annotated[T, ByReference("large")]
"""A value that may be over 32 KiB."""


class Reference(Contract):
    """Stands for a value in the artifact store.

    Attributes:
        artifact: `<tenant>/<SHA-256 of the JSON text>`.
        bytes: length of the JSON text in UTF-8.
    """

    artifact: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}/[0-9a-f]{64}$")]
    bytes: int


def is_reference(value: Json) -> bool:
    """True for the JSON form of a `Reference`."""
    return isinstance(value, dict) and value.keys() == {"artifact", "bytes"}


def holds_reference(value: Json) -> bool:
    """True when something in the value has the form of a reference."""
    if isinstance(value, dict):
        return is_reference(value) or any(holds_reference(item) for item in value.values())
    return isinstance(value, list) and any(holds_reference(item) for item in value)


def artifact_key(tenant: str, content: bytes) -> str:
    """`<tenant>/<SHA-256>`: equal content has one key, and no tenant shares another's."""
    return f"{tenant}/{hashlib.sha256(content).hexdigest()}"


def marker_of(model: type[BaseModel], field: str) -> ByReference | None:
    """How the field travels, None when it stays in the payload."""
    return next(
        (mark for mark in model.model_fields[field].metadata if isinstance(mark, ByReference)),
        None,
    )
