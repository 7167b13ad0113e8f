"""Texts become chunks; a document without one is named, whatever the reason."""

import pytest

from autoops.domain.passages import DocumentState, DocumentText
from unit.steps.bench import Bench


def test_chunks_texts_and_count_belong_together(bench: Bench) -> None:
    payload = bench.run("chunk_documents")
    chunks = bench.value(payload["chunks"])
    assert payload["count"] == len(chunks) == 1
    assert bench.value(payload["texts"]) == [chunk["text"] for chunk in chunks]
    assert chunks[0]["document"] == "guides/yaks.md"
    assert chunks[0]["place"] == "lines 1-3"


def test_every_document_is_accounted_for(bench: Bench) -> None:
    reports = bench.value(bench.run("chunk_documents")["documents"])
    assert [(each["document"], each["state"], each["chunks"]) for each in reports] == [
        ("guides/yaks.md", "ok", 1),
        ("guides/scan.pdf", "no_text_layer", 0),
        ("guides/blank.md", "no_content", 0),
    ]
    assert reports[1]["problem"] == "no text layer; run OCR over it first"
    assert reports[2]["problem"]


def test_a_batch_without_text_has_nothing_to_embed(bench: Bench) -> None:
    texts = bench.artifacts.put("default", [])
    assert bench.run("chunk_documents", texts=texts.model_dump())["count"] == 0


def page(paragraphs: int) -> str:
    return "\n\n".join(f"{number} {'yak ' * 295}" for number in range(paragraphs))


@pytest.mark.parametrize(
    ("title", "pages", "problem"),
    [
        ("t" * 450_000, ("A yak is an ox.",), "title and name take"),
        ("ü" * 20_000, ("A yak is an ox.",), "title and name take"),
        ("Yaks", (page(13_000),), "13000 chunks are more than one document may have"),
    ],
)
def test_a_document_too_large_for_index_or_catalogue_is_named_and_the_others_go_in(
    bench: Bench, title: str, pages: tuple[str, ...], problem: str
) -> None:
    good = [
        DocumentText(document=f"{n}.md", title="Yaks", state=DocumentState.OK, pages=("A yak.",))
        for n in range(9)
    ]
    bad = DocumentText(document="bad.md", title=title, state=DocumentState.OK, pages=pages)
    texts = bench.artifacts.put("default", [*good[:4], bad, *good[4:]])
    payload = bench.run("chunk_documents", texts=texts.model_dump())
    assert {chunk["document"] for chunk in bench.value(payload["chunks"])} == {
        text.document for text in good
    }
    assert payload["count"] == 9, "what is left out is neither embedded nor indexed"
    reports = {each["document"]: each for each in bench.value(payload["documents"])}
    assert (reports["bad.md"]["state"], reports["bad.md"]["chunks"]) == ("too_large", 0)
    assert reports["bad.md"]["problem"].startswith(problem)
    assert all(reports[text.document]["state"] == "ok" for text in good)
