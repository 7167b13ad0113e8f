"""Cut a text into chunks at paragraph and sentence ends."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from autoops.domain.passages import Chunk, DocumentText

CHUNK_CHARACTERS: Final = 1_200
"""Under the least limit of the embedders we know, 2,048 characters."""
LONGEST_CHARACTERS: Final = 2_000

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
        elif len(gathered.text) + 2 + len(piece.text) <= CHUNK_CHARACTERS:
            gap = "\n" * max(2, piece.line - gathered.line - gathered.text.count("\n"))
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
    while len(text) > LONGEST_CHARACTERS:
        ends = [end.end() for end in _SENTENCE_END.finditer(text, 0, CHUNK_CHARACTERS)]
        cut = ends[-1] if ends else CHUNK_CHARACTERS
        head = text[:cut]
        if head.strip():
            yield _Piece(head.rstrip(), line)
        line += head.count("\n")
        text = text[cut:]
    if text.strip():
        yield _Piece(text, line)
