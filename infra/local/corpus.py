"""The documents of a run: the user's own, or the language reference that every Python ships."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 50 * 1024 * 1024
QUESTION: Final = (
    "What happens when an exception is raised in a try block that has a finally clause?"
)
"""Answered by the language reference."""


class CorpusError(Exception):
    """There is nothing to ingest; the message says why and what to do."""


@dataclass(frozen=True)
class SourceDocument:
    """One document, ready to be put into the documents bucket.

    Attributes:
        key: path below the tenant's prefix.
    """

    key: str
    content: bytes


@dataclass(frozen=True)
class Unreadable:
    """A file that cannot be taken, and why."""

    key: str
    problem: str


@dataclass(frozen=True)
class Corpus:
    """What there is to ingest.

    Attributes:
        name: what to call it.
        unreadable: files that were passed over.
    """

    name: str
    documents: tuple[SourceDocument, ...]
    unreadable: tuple[Unreadable, ...] = ()


def language_reference() -> Corpus:
    """The language reference of the Python that runs this."""
    from pydoc_data.topics import topics

    return Corpus(
        name="the Python language reference",
        documents=tuple(
            SourceDocument(f"python/{topic}.txt", text.encode())
            for topic, text in sorted(topics.items())
        ),
    )


def documents_at(path: Path) -> Corpus:
    """The files at a path: one file, or all below a folder but the hidden ones.

    Raises:
        CorpusError: the path is missing, or there is no readable file.
    """
    if not path.exists():
        raise CorpusError(f"documents: {path} does not exist; give a file or a folder")
    taken = [_taken(file, path) for file in _files(path)]
    documents = tuple(one for one in taken if isinstance(one, SourceDocument))
    unreadable = tuple(one for one in taken if isinstance(one, Unreadable))
    if not documents:
        raise CorpusError(_nothing(path, unreadable))
    return Corpus(name=str(path), documents=documents, unreadable=unreadable)


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if file.is_file() and not hidden:
            yield file


def _taken(file: Path, below: Path) -> SourceDocument | Unreadable:
    key = file.name if file == below else file.relative_to(below).as_posix()
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            return Unreadable(key, f"over {MOST_BYTES // 1024 // 1024} MiB")
        return SourceDocument(key, file.read_bytes())
    except OSError as problem:
        return Unreadable(key, f"cannot be read: {problem.strerror}")


def _nothing(path: Path, unreadable: tuple[Unreadable, ...]) -> str:
    if not unreadable:
        return f"documents: {path} holds no files; put text, Markdown, HTML or PDF there"
    first = unreadable[0]
    return f"documents: no readable file at {path}; {first.key}: {first.problem}"
