"""Documents, the chunks they are cut into, and the passages that answer a question."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from autoops.domain.contracts import Contract
from autoops.domain.pricing import Usage
from autoops.domain.vectors import Vectors


class DocumentState(StrEnum):
    """What became of a document."""

    OK = "ok"
    PARTIAL = "partial"
    EMPTY = "empty"
    NO_TEXT_LAYER = "no_text_layer"
    PARSE_FAILED = "parse_failed"
    TOO_LARGE = "too_large"
    SKIPPED_DELETED = "skipped_deleted"
    NO_CONTENT = "no_content"


class DocumentText(Contract):
    """A document's text, or why there is none.

    Attributes:
        document: its key in the documents bucket, without the tenant's prefix.
        title: what people call it.
        pages: text by page; one for a document without pages.
        problem: what is wrong, None when `state` is ok.
    """

    document: str
    title: str
    state: DocumentState
    pages: tuple[str, ...] = ()
    problem: str | None = None


class Chunk(Contract):
    """A piece of a document, small enough to embed and whole enough to quote.

    Attributes:
        key: `<tenant>/<hash of document>/<number>`, the same whenever the document is cut.
        place: where it stands, such as "page 3" or "lines 40-58".
    """

    key: str
    document: str
    title: str
    place: str
    text: Annotated[str, Field(min_length=1)]


class Embeddings(Contract):
    """Vectors in the order of their texts and the tokens they took."""

    vectors: Vectors
    usage: Usage | None


class EmbeddedChunk(Contract):
    """A chunk and its vector."""

    chunk: Chunk
    vector: tuple[float, ...]


class Passage(Contract):
    """A chunk that the index found for a question.

    Attributes:
        id: how prompt and answer name it, such as "p1"; p1 is the best.
        score: the index's own figure, higher is better; only comparable within one query.
    """

    id: str
    chunk: Chunk
    score: float


class Citation(Contract):
    """Words of a document that bear the answer out, checked to stand there."""

    document: str
    title: str
    place: str
    quote: str
