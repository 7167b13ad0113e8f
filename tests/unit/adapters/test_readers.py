"""Text out of files, or the reason why there is none; no file stops another."""

import codecs
import random
from pathlib import Path

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.adapters.readers import text_of
from autoops.domain.passages import DocumentState
from unit.adapters.pdfs import encrypted, pdf

PRICE = "Preis: 12 €"
ENCODED = {
    "utf-8": PRICE.encode(),
    "utf-8 with mark": codecs.BOM_UTF8 + PRICE.encode(),
    "utf-16 little endian": codecs.BOM_UTF16_LE + PRICE.encode("utf-16-le"),
    "utf-16 big endian": codecs.BOM_UTF16_BE + PRICE.encode("utf-16-be"),
    "utf-32 little endian": codecs.BOM_UTF32_LE + PRICE.encode("utf-32-le"),
    "windows-1252": PRICE.encode("cp1252"),
}


def noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)  # noqa: S311  # no secret


@pytest.mark.parametrize("encoding", ENCODED)
def test_a_text_is_the_same_in_every_encoding_with_a_mark(encoding: str) -> None:
    read = text_of("price.txt", ENCODED[encoding])
    assert (read.state, read.pages) == (DocumentState.OK, (PRICE,))


@pytest.mark.parametrize("name", ["noise.txt", "noise.md", "noise.html", "noise.pdf", "noise"])
@pytest.mark.parametrize("content", [noise(1_024), b"a\0b", PRICE.encode("utf-16-le")])
def test_bytes_that_are_no_text_are_named_as_such(name: str, content: bytes) -> None:
    read = text_of(name, content)
    assert (read.state, read.pages) == (DocumentState.PARSE_FAILED, ())
    assert read.problem


@given(st.sampled_from(["a.txt", "a.md", "a.html", "a.pdf", "a.bin", "a"]), st.binary(max_size=300))
def test_no_file_raises_whatever_it_holds(name: str, content: bytes) -> None:
    read = text_of(name, content)
    assert bool(read.pages) == (read.state in (DocumentState.OK, DocumentState.PARTIAL))
    assert (read.problem is None) == (read.state is DocumentState.OK)


@given(st.integers(0, 600), st.binary(min_size=1, max_size=40))
def test_no_damaged_pdf_raises(place: int, damage: bytes) -> None:
    whole = pdf("A yak is an ox.")
    assert text_of("a.pdf", whole[:place] + damage + whole[place + len(damage) :])


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.pdf"])
def test_a_file_of_no_bytes_is_empty(name: str) -> None:
    assert text_of(name, b"").state is DocumentState.EMPTY


@pytest.mark.parametrize(("name", "content"), [("a.txt", b" \n\t"), ("a.html", b"<p> </p>")])
def test_a_file_of_white_space_is_empty(name: str, content: bytes) -> None:
    assert text_of(name, content).state is DocumentState.EMPTY


def test_line_ends_are_the_same_from_every_system() -> None:
    assert text_of("a.txt", b"a\r\nb\rc\n").pages == ("a\nb\nc\n",)


def test_a_markdown_file_is_called_by_its_first_heading() -> None:
    assert text_of("in/a.md", b"intro\n\n## The Yak ##\n").title == "The Yak"
    assert text_of("in/notes.md", b"no heading").title == "notes"


def test_html_gives_its_words_in_blocks_and_none_of_its_code() -> None:
    page = (
        b"<html><head><title>Yaks</title><style>p{}</style></head><body><nav>Home</nav>"
        b"<h1>The yak</h1><p>A <b>yak</b> is &amp; was an ox.</p><script>steal()</script>"
        b"<ul><li>hair</li><li>horns</li></ul></body></html>"
    )
    read = text_of("yaks.html", page)
    assert read.title == "Yaks"
    assert " ".join(read.pages[0].split()) == "The yak A yak is & was an ox. hair horns"
    assert "The yak\n\nA yak" in read.pages[0]


def test_a_pdf_gives_its_text_page_by_page() -> None:
    read = text_of("in/yaks.pdf", pdf("A yak is an ox.", "It has hair.", title="Yaks"))
    assert (read.state, read.title) == (DocumentState.OK, "Yaks")
    assert [page.strip() for page in read.pages] == ["A yak is an ox.", "It has hair."]


def test_a_pdf_without_a_title_is_called_by_its_file() -> None:
    assert text_of("in/yaks.pdf", pdf("A yak.")).title == "yaks"


def test_a_scanned_pdf_has_no_text_layer() -> None:
    read = text_of("scan.pdf", pdf(None))
    assert (read.state, read.pages) == (DocumentState.NO_TEXT_LAYER, ())
    assert "OCR" in (read.problem or "")


def test_a_pdf_with_text_on_one_of_three_pages_is_partial() -> None:
    read = text_of("part.pdf", pdf(None, "A yak.", None))
    assert read.state is DocumentState.PARTIAL
    assert read.problem == "2 of 3 pages have no text"
    assert len(read.pages) == 3, "places keep their page numbers"


def test_a_pdf_behind_a_password_is_named_as_encrypted() -> None:
    read = text_of("locked.pdf", encrypted(pdf("A yak.")))
    assert (read.state, read.problem) == (
        DocumentState.PARSE_FAILED,
        "encrypted; remove the password",
    )


@pytest.mark.parametrize("error", [RecursionError, NotImplementedError, OverflowError])
def test_whatever_a_pdf_does_to_its_parser_it_is_only_named(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error("canary")

    monkeypatch.setattr(pypdf, "PdfReader", broken)
    read = text_of("hostile.pdf", pdf("A yak."))
    assert read.state is DocumentState.PARSE_FAILED
    assert read.problem == f"no readable PDF ({error.__name__})"


def test_a_pdf_that_needs_a_library_we_do_not_ship_is_named_as_encrypted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise pypdf.errors.DependencyError("cryptography is required")

    monkeypatch.setattr(pypdf, "PdfReader", broken)
    read = text_of("aes.pdf", pdf("A yak."))
    assert (read.state, read.problem) == (
        DocumentState.PARSE_FAILED,
        "encrypted; remove the password",
    )


def test_a_file_without_a_known_ending_is_read_as_text() -> None:
    assert text_of("in/README", b"A yak.").title == "README"
    assert text_of(str(Path("in") / "a.rst"), b"A yak.").state is DocumentState.OK
