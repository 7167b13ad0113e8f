"""Text out of files: plain text, Markdown, HTML, PDF. A file that cannot be read is a result."""

import codecs
import io
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Final

from autoops.domain.contracts import whole_text
from autoops.domain.passages import DocumentState, DocumentText

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
ENCRYPTED: Final = "encrypted; remove the password"
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_BLANKS = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")
_BLOCKS: Final = "p,div,section,article,h1,h2,h3,h4,h5,h6,li,tr,pre,blockquote,br,table,ul,ol,dt,dd"


def text_of(document: str, content: bytes) -> DocumentText:
    """The text of a file by its ending; the problem is named where there is none."""
    if not content:
        return _failed(document, DocumentState.EMPTY, "the file has 0 bytes")
    read = _READERS.get(PurePosixPath(document).suffix.lower(), _read_plain)
    return read(document, content)


def decoded(content: bytes) -> str | None:
    """The text of bytes by mark, then strict UTF-8, then Windows-1252; None for what is no text."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _decode(content, encoding)
    return _decode(content, "utf-8") or _decode(content, "cp1252")


def _decode(content: bytes, encoding: str) -> str | None:
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text.replace("\r\n", "\n").replace("\r", "\n")


def _read_plain(document: str, content: bytes) -> DocumentText:
    text = decoded(content)
    if text is None:
        return _failed(document, DocumentState.PARSE_FAILED, "binary, or in an unknown encoding")
    return _read(document, PurePosixPath(document).stem, (text,))


def _read_markdown(document: str, content: bytes) -> DocumentText:
    read = _read_plain(document, content)
    heading = _HEADING.search(read.pages[0]) if read.pages else None
    return read.model_copy(update={"title": heading[1]}) if heading else read


def _read_html(document: str, content: bytes) -> DocumentText:
    from selectolax.lexbor import LexborHTMLParser

    text = decoded(content)
    if text is None:
        return _failed(document, DocumentState.PARSE_FAILED, "binary, or in an unknown encoding")
    page = LexborHTMLParser(text)
    title = page.css_first("title") or page.css_first("h1")
    name = title.text(strip=True) if title else ""
    page.strip_tags(["script", "style", "nav", "template", "head"])
    for block in page.css(_BLOCKS):
        block.insert_after("\n\n")
    body = page.body.text() if page.body else ""
    tidy = "\n".join(line.strip() for line in body.split("\n"))
    return _read(document, name or PurePosixPath(document).stem, (_BLANKS.sub("\n\n", tidy),))


def _read_pdf(document: str, content: bytes) -> DocumentText:
    from pypdf import PdfReader

    try:
        pdf = PdfReader(io.BytesIO(content))
        if pdf.is_encrypted and not pdf.decrypt(""):
            return _failed(document, DocumentState.PARSE_FAILED, ENCRYPTED)
        pages = tuple(whole_text(page.extract_text()) for page in pdf.pages)
        title = whole_text((pdf.metadata.title if pdf.metadata else None) or "").strip()
    except Exception as error:  # noqa: BLE001  # one bad file stops no other
        name = type(error).__name__
        reason = ENCRYPTED if name == "DependencyError" else f"no readable PDF ({name})"
        return _failed(document, DocumentState.PARSE_FAILED, reason)
    read = _read(document, title or PurePosixPath(document).stem, pages)
    return read if any(page.strip() for page in pages) else _no_text_layer(document)


def _read(document: str, title: str, pages: tuple[str, ...]) -> DocumentText:
    blank = sum(1 for page in pages if not page.strip())
    if blank == len(pages):
        return _failed(document, DocumentState.EMPTY, "the file holds only white space")
    if blank:
        problem = f"{blank} of {len(pages)} pages have no text"
        return DocumentText(
            document=document,
            title=title,
            state=DocumentState.PARTIAL,
            pages=pages,
            problem=problem,
        )
    return DocumentText(document=document, title=title, state=DocumentState.OK, pages=pages)


def _no_text_layer(document: str) -> DocumentText:
    reason = "no text layer; run OCR over it first"
    return _failed(document, DocumentState.NO_TEXT_LAYER, reason)


def _failed(document: str, state: DocumentState, problem: str) -> DocumentText:
    title = PurePosixPath(document).stem
    return DocumentText(document=document, title=title, state=state, problem=problem)


_READERS: Final[Mapping[str, Callable[[str, bytes], DocumentText]]] = {
    ".pdf": _read_pdf,
    ".html": _read_html,
    ".htm": _read_html,
    ".md": _read_markdown,
    ".markdown": _read_markdown,
}
