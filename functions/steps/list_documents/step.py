"""List the documents to ingest, in batches that one Lambda call handles with ease."""

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from autoops.domain.contracts import Contract, Run
from autoops.errors import InvalidInput
from autoops.ports import Documents

BATCH_BYTES: Final = 256 * 1024
BATCH_DOCUMENTS: Final = 50
BATCHES: Final = 1_000
"""More would not fit into one Map of one execution's history."""


class Input(Contract):
    """Which documents: those whose key starts with the prefix."""

    prefix: str


class Batch(Contract):
    """Keys of documents that go through the steps together."""

    documents: tuple[str, ...]


class Output(Contract):
    """The documents, in batches."""

    documents: int
    batches: Annotated[tuple[Batch, ...], Field(max_length=BATCHES)]


def list_documents(given: Input, run: Run, documents: Documents) -> Output:
    """Batch the documents in the order of their keys.

    Raises:
        InvalidInput: there are none, or more than one execution can take.
    """
    found = documents.list(run.tenant, given.prefix)
    if not found:
        raise InvalidInput(f"prefix: no documents below {given.prefix!r}; upload some first")
    batches = tuple(_batches(found))
    if len(batches) > BATCHES:
        raise InvalidInput(f"prefix: {len(found)} documents; ingest them by narrower prefixes")
    return Output(documents=len(found), batches=batches)


def _batches(found: tuple[tuple[str, int], ...]) -> Iterator[Batch]:
    batch: list[str] = []
    size = 0
    for key, length in found:
        if batch and (size + length > BATCH_BYTES or len(batch) == BATCH_DOCUMENTS):
            yield Batch(documents=tuple(batch))
            batch, size = [], 0
        batch.append(key)
        size += length
    yield Batch(documents=tuple(batch))
