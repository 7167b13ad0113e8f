"""Cut the texts of a batch into chunks."""

from autoops.domain.chunking import chunks_of, misfit
from autoops.domain.contracts import Contract, Run
from autoops.domain.passages import Chunk, DocumentState, DocumentText
from autoops.domain.references import Private
from autoops.domain.results import IngestedDocument


class Input(Contract):
    """The texts of a batch."""

    texts: Private[tuple[DocumentText, ...]]


class Output(Contract):
    """The chunks.

    Attributes:
        count: how many; 0 means that there is nothing to embed.
        chunks: of all documents, in order.
        texts: the chunks' texts alone, as the embedder gets them.
        documents: what became of each document so far.
    """

    count: int
    chunks: Private[tuple[Chunk, ...]]
    texts: Private[tuple[str, ...]]
    documents: Private[tuple[IngestedDocument, ...]]


def chunk_documents(given: Input, run: Run) -> Output:
    """Cut each text; a document without a chunk, or with more than fits, is named and left out."""
    cut = [_cut(run.tenant, text) for text in given.texts]
    chunks = tuple(chunk for _, pieces in cut for chunk in pieces)
    return Output(
        count=len(chunks),
        chunks=chunks,
        texts=tuple(chunk.text for chunk in chunks),
        documents=tuple(document for document, _ in cut),
    )


def _cut(tenant: str, text: DocumentText) -> tuple[IngestedDocument, tuple[Chunk, ...]]:
    chunks = chunks_of(tenant, text)
    problem = misfit(chunks)
    if problem:
        return _named(text, DocumentState.TOO_LARGE, problem), ()
    if text.state in (DocumentState.OK, DocumentState.PARTIAL) and not chunks:
        return _named(text, DocumentState.NO_CONTENT, "no text is left after cutting"), ()
    return IngestedDocument(
        document=text.document, state=text.state, chunks=len(chunks), problem=text.problem
    ), chunks


def _named(text: DocumentText, state: DocumentState, problem: str) -> IngestedDocument:
    return IngestedDocument(document=text.document, state=state, chunks=0, problem=problem)
