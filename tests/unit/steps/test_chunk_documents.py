"""Texts become chunks; a document without one is named, whatever the reason."""

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
