"""Put the chunks of a batch into the index and take out what its documents no longer hold."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from autoops.domain.contracts import Contract, Run
from autoops.domain.passages import Chunk, EmbeddedChunk
from autoops.domain.references import Private
from autoops.domain.results import IngestedDocument
from autoops.ports import Ledger, VectorIndex


class Input(Contract):
    """The chunks of a batch with their vectors; both empty when no document has text."""

    documents: Private[tuple[IngestedDocument, ...]]
    chunks: Private[tuple[Chunk, ...]]
    vectors: Private[tuple[tuple[float, ...], ...]]


class Output(Contract):
    """What became of each document of the batch."""

    documents: Private[tuple[IngestedDocument, ...]]


def index_chunks(given: Input, run: Run, *, index: VectorIndex, ledger: Ledger) -> Output:
    """Index the chunks, then remove those of an earlier version; the same again changes nothing.

    Raises:
        DependencyUnavailable: index or ledger did not answer.
    """
    pairs = zip(given.chunks, given.vectors, strict=True)
    index.put([EmbeddedChunk(chunk=chunk, vector=vector) for chunk, vector in pairs])
    by_document = _by_document(given.chunks)
    for ingested in given.documents:
        _replace(run.tenant, ingested.document, by_document, index, ledger)
    return Output(documents=given.documents)


def _by_document(chunks: Sequence[Chunk]) -> Mapping[str, list[Chunk]]:
    return {
        document: list(group) for document, group in groupby(chunks, lambda chunk: chunk.document)
    }


def _replace(
    tenant: str,
    document: str,
    by_document: Mapping[str, list[Chunk]],
    index: VectorIndex,
    ledger: Ledger,
) -> None:
    now = by_document.get(document, [])
    before = ledger.chunk_keys(tenant, document)
    keys = {chunk.key for chunk in now}
    if keys == before:
        return
    # Removed before forgotten: after a crash in between, the next run removes them once more.
    index.delete(sorted(before - keys))
    ledger.keep_chunks(tenant, document, now)
