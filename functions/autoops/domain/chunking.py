"""Cut a text into chunks at paragraph and sentence ends."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from autoops.domain.passages import Chunk, DocumentText

CHUNK_CHARACTERS: Final = 1_200
"""Under the least limit of the embedders we know, 2,048 characters."""
LONGEST_CHARACTERS: Final = 2_000
METADATA_BYTES: Final = 39 * 1024
"""A vector takes 40 KiB with it, the names of the fields included."""
KEYS_BYTES: Final = 380 * 1024
"""An item of DynamoDB takes 400 KiB, and one holds the keys of all chunks of a document."""
PER_KEY_BYTES: Final = 4
"""What DynamoDB counts for each element of a list beside the element."""

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“(])")


@dataclass(frozen=True)
class _Piece:
    text: str
    line: int


def chunks_of(tenant: str, text: DocumentText) -> tuple[Chunk, ...]:
    """The document's chunks in reading order, none blank, none over `LONGEST_CHARACTERS`."""
    identity = hashlib.sha256(text.document.encode()).hexdigest()[:16]
    pieces = [
        (place, piece)
        for number, page in enumerate(text.pages, start=1)
        for place, piece in _placed(page, number, len(text.pages))
    ]
    return tuple(
        Chunk(
            key=f"{tenant}/{identity}/{number:05d}",
            document=text.document,
            title=text.title,
            place=place,
            text=piece,
        )
        for number, (place, piece) in enumerate(pieces)
    )


def misfit(chunks: Sequence[Chunk]) -> str | None:
    """Why index or catalogue would refuse a document's chunks; asked before either is written."""
    keys = sum(_bytes(chunk.key) + PER_KEY_BYTES for chunk in chunks)
    if keys > KEYS_BYTES:
        return f"{len(chunks)} chunks are more than one document may have; split it"
    longest = max((_metadata_bytes(chunk) for chunk in chunks), default=0)
    if longest > METADATA_BYTES:
        return (
            f"title and name take {longest} bytes of each chunk, {METADATA_BYTES} fit; shorten them"
        )
    return None


def _metadata_bytes(chunk: Chunk) -> int:
    return sum(_bytes(getattr(chunk, name)) for name in type(chunk).model_fields)


def _bytes(text: str) -> int:
    return len(text.encode())


def _placed(page: str, number: int, pages: int) -> Iterator[tuple[str, str]]:
    for piece in _joined(page):
        last = piece.line + piece.text.count("\n")
        lines = f"line {piece.line}" if last == piece.line else f"lines {piece.line}-{last}"
        yield (f"page {number}" if pages > 1 else lines), piece.text


def _joined(page: str) -> Iterator[_Piece]:
    """Neighbouring paragraphs put together up to `CHUNK_CHARACTERS`."""
    gathered: _Piece | None = None
    for piece in _paragraphs(page):
        if gathered is None:
            gathered = piece
            continue
        gap = "\n" * max(2, piece.line - gathered.line - gathered.text.count("\n"))
        if len(gathered.text) + len(gap) + len(piece.text) <= CHUNK_CHARACTERS:
            gathered = _Piece(f"{gathered.text}{gap}{piece.text}", gathered.line)
        else:
            yield gathered
            gathered = piece
    if gathered is not None:
        yield gathered


def _paragraphs(page: str) -> Iterator[_Piece]:
    line = 1
    position = 0
    for end in [*_PARAGRAPH_END.finditer(page), None]:
        raw = page[position : end.start() if end else len(page)]
        if raw.strip():
            lead = len(raw) - len(raw.lstrip("\n"))
            yield from _split(_Piece(raw.strip("\n"), line + lead))
        if end:
            line += page.count("\n", position, end.end())
            position = end.end()


def _split(piece: _Piece) -> Iterator[_Piece]:
    """A paragraph that is too long, cut at sentence ends, else at the limit."""
    text, line = piece.text, piece.line
    start = 0
    while start < len(text):
        end = _cut(text, start)
        part = text[start:end]
        blank = part.rfind("\n", 0, len(part) - len(part.lstrip())) + 1
        if part.strip():
            yield _Piece(part[blank:].rstrip(), line + part.count("\n", 0, blank))
        line += part.count("\n")
        start = end


def _cut(text: str, start: int) -> int:
    if len(text) - start <= LONGEST_CHARACTERS:
        return len(text)
    limit = start + CHUNK_CHARACTERS
    ends = [end.end() for end in _SENTENCE_END.finditer(text, start, limit)]
    return ends[-1] if ends else limit
