"""ingest-documents from end to end."""

import json
from typing import Any

from local.lambdas.in_process import WorkerKilled
from workflows.bench import Bench, raising


def _reports(bench: Bench, described: dict[str, Any]) -> list[dict[str, Any]]:
    output = json.loads(described["output"])
    return [
        document
        for reference in output["reports"]
        for document in json.loads(bench.artifacts.content[reference["artifact"]])
    ]


async def test_bad_documents_are_named_and_the_good_ones_go_in(bench: Bench) -> None:
    bench.documents.files |= {
        "a.txt": b"alpha text",
        "b.bin": bytes(range(256)),
        "c.pdf": b"not a pdf",
        "d.txt": b"",
        "e.md": b"# Echo\n\nmore text",
    }
    described = await bench.run("ingest-documents", {})
    assert {one["document"]: one["state"] for one in _reports(bench, described)} == {
        "a.txt": "ok",
        "b.bin": "parse_failed",
        "c.pdf": "parse_failed",
        "d.txt": "empty",
        "e.md": "ok",
    }
    assert sorted(chunk.document for chunk in bench.index.chunks.values()) == ["a.txt", "e.md"]


async def test_a_batch_without_text_embeds_nothing(bench: Bench) -> None:
    bench.documents.files["d.txt"] = b"   \n"
    described = await bench.run("ingest-documents", {})
    assert described["status"] == "SUCCEEDED"
    assert bench.embedder.asked == []


async def test_no_documents_is_invalid_input(bench: Bench) -> None:
    described = await bench.run("ingest-documents", {"prefix": "nowhere/"})
    assert described["error"] == "InvalidInput"
    assert "no documents" in json.loads(described["cause"])["errorMessage"]


async def test_one_and_many_batches_report_every_document_once(bench: Bench) -> None:
    for count in (1, 2, 130):
        bench.documents.files = {f"{n:03}.txt": b"some text" for n in range(count)}
        described = await bench.run("ingest-documents", {}, f"r{count}")
        names = [one["document"] for one in _reports(bench, described)]
        assert sorted(names) == sorted(bench.documents.files)


async def test_a_shorter_version_leaves_no_chunk_of_the_longer_one(bench: Bench) -> None:
    paragraph = "word " * 200
    bench.documents.files["a.txt"] = "\n\n".join([paragraph] * 10).encode()
    await bench.run("ingest-documents", {}, "v1")
    assert len(bench.index.chunks) == 10
    bench.documents.files["a.txt"] = "\n\n".join([paragraph] * 6).encode()
    await bench.run("ingest-documents", {}, "v2")
    assert len(bench.index.chunks) == 6
    bench.documents.files = {"b.txt": b"other", "a.txt": b""}
    await bench.run("ingest-documents", {}, "v3")
    assert [chunk.document for chunk in bench.index.chunks.values()] == ["b.txt"]


async def test_a_worker_killed_after_embedding_pays_for_the_vectors_once(bench: Bench) -> None:
    bench.documents.files["a.txt"] = b"alpha text"
    bench.after["EmbedChunksFunction"] = [raising(WorkerKilled())]
    described = await bench.run("ingest-documents", {})
    assert described["status"] == "SUCCEEDED"
    assert len(bench.embedder.asked) == 1
    assert bench.view("ingest-documents:r1").budget.reserved == 0
