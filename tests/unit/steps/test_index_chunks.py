"""The index holds exactly the chunks of each document's newest version."""

import pytest

from autoops.domain.chunking import chunks_of
from autoops.domain.contracts import Json, plain
from autoops.domain.passages import DocumentState, DocumentText
from autoops.errors import DependencyUnavailable
from fakes import killed, raising
from unit.steps.bench import Bench

NAME = "guides/yaks.md"


def ingest(bench: Bench, parts: int, word: str = "yak") -> Json:
    """Index a version of the document that is cut into so many chunks."""
    pages = ("\n\n".join(f"{word} {number} {'x' * 1_150}" for number in range(parts)),)
    text = DocumentText(document=NAME, title="Yaks", state=DocumentState.OK, pages=pages)
    chunks = chunks_of("default", text)
    assert len(chunks) == parts
    vectors = bench.embedder.embed([chunk.text for chunk in chunks]).vectors
    report = [{"document": NAME, "state": "ok", "chunks": parts, "problem": None}]
    given = {"documents": report, "chunks": list(chunks), "vectors": vectors}
    references = {
        name: plain(bench.artifacts.put("default", value)) for name, value in given.items()
    }
    return bench.run("index_chunks", **references)


def test_chunks_are_indexed_and_remembered(bench: Bench) -> None:
    payload = bench.run("index_chunks")
    assert set(bench.index.held) == {"default/7a61/00000"}
    assert bench.catalogue.keys["default", NAME] == {"default/7a61/00000"}
    assert [each["document"] for each in bench.value(payload["documents"])] == [
        NAME,
        "guides/scan.pdf",
    ]


def test_a_shorter_version_leaves_nothing_of_the_longer_one(bench: Bench) -> None:
    ingest(bench, 10, "old")
    assert len(bench.index.held) == 10
    ingest(bench, 6, "new")
    assert len(bench.index.held) == 6
    assert all(held.chunk.text.startswith("new") for held in bench.index.held.values())
    ingest(bench, 6, "new")
    assert len(bench.index.held) == 6


def test_a_document_that_lost_its_text_leaves_nothing(bench: Bench) -> None:
    bench.run("index_chunks")
    bench.index.held["default/s/00000"] = bench.index.held["default/7a61/00000"]
    bench.catalogue.keys["default", "guides/scan.pdf"] = frozenset({"default/s/00000"})
    bench.run("index_chunks", "nothing_to_index")
    assert set(bench.index.held) == {"default/7a61/00000"}
    assert bench.catalogue.keys["default", "guides/scan.pdf"] == frozenset()


@pytest.mark.parametrize("moment", ["after put", "before delete", "after delete"])
def test_after_a_crash_the_retry_leaves_nothing_of_the_old_version(
    bench: Bench, moment: str
) -> None:
    ingest(bench, 3)
    bench.index.watch = killed(moment)
    with pytest.raises(BaseException, match=moment):
        ingest(bench, 1)
    ingest(bench, 1)
    assert len(bench.index.held) == 1
    assert set(bench.index.held) == bench.catalogue.keys["default", NAME]


def test_an_index_that_does_not_answer_fails_the_step_and_forgets_nothing(bench: Bench) -> None:
    ingest(bench, 3)
    before = bench.catalogue.keys["default", NAME]
    bench.index.watch = raising("before delete", DependencyUnavailable("s3vectors: down"))
    with pytest.raises(DependencyUnavailable):
        ingest(bench, 1)
    assert bench.catalogue.keys["default", NAME] == before
