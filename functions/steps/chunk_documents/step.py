"""Cut the texts of a batch into chunks."""

from autoops.domain.chunking import chunks_of
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
    """Cut each text; a document without a chunk is named."""
    cut = [(text, chunks_of(run.tenant, text)) for text in given.texts]
    chunks = tuple(chunk for _, pieces in cut for chunk in pieces)
    return Output(
        count=len(chunks),
        chunks=chunks,
        texts=tuple(chunk.text for chunk in chunks),
        documents=tuple(_so_far(text, len(pieces)) for text, pieces in cut),
    )


def _so_far(text: DocumentText, chunks: int) -> IngestedDocument:
    readable = text.state in (DocumentState.OK, DocumentState.PARTIAL)
    if readable and not chunks:
        return IngestedDocument(
            document=text.document,
            state=DocumentState.NO_CONTENT,
            chunks=0,
            problem="no text is left after cutting",
        )
    return IngestedDocument(
        document=text.document, state=text.state, chunks=chunks, problem=text.problem
    )
