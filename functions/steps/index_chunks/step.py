"""Put the chunks of a batch into the index and take out what its documents no longer hold."""

from autoops.domain.contracts import Contract, Run
from autoops.domain.passages import Chunk, EmbeddedChunk
from autoops.domain.references import Private
from autoops.domain.results import IngestedDocument
from autoops.domain.vectors import Vectors
from autoops.ports import Catalogue, VectorIndex


class Input(Contract):
    """The chunks of a batch with their vectors; both empty when no document has text."""

    documents: Private[tuple[IngestedDocument, ...]]
    chunks: Private[tuple[Chunk, ...]]
    vectors: Private[Vectors]


class Output(Contract):
    """What became of each document of the batch."""

    documents: Private[tuple[IngestedDocument, ...]]


def index_chunks(given: Input, run: Run, *, index: VectorIndex, catalogue: Catalogue) -> Output:
    """Index the chunks, then remove those of an earlier version; the same again changes nothing.

    Raises:
        DependencyUnavailable: index or catalogue did not answer.
    """
    pairs = zip(given.chunks, given.vectors.rows(), strict=True)
    index.put([EmbeddedChunk(chunk=chunk, vector=vector) for chunk, vector in pairs])
    now = _keys_by_document(given)
    before = catalogue.chunk_keys(run.tenant, tuple(now))
    changed = {document: keys for document, keys in now.items() if set(keys) != before[document]}
    # Removed before forgotten: after a crash in between, the next run removes them once more.
    index.delete(sorted(key for name in changed for key in before[name] - set(changed[name])))
    catalogue.keep_chunks(run.tenant, changed)
    return Output(documents=given.documents)


def _keys_by_document(given: Input) -> dict[str, list[str]]:
    keys: dict[str, list[str]] = {ingested.document: [] for ingested in given.documents}
    for chunk in given.chunks:
        keys[chunk.document].append(chunk.key)
    return keys
