"""Documents are listed in batches that one call handles with ease."""

import pytest

from autoops.errors import InvalidInput
from steps.list_documents.step import BATCH_BYTES, BATCH_DOCUMENTS, BATCHES
from unit.steps.bench import Bench


def batches(bench: Bench, prefix: str = "guides/") -> list[list[str]]:
    payload = bench.run("list_documents", prefix=prefix)
    found = [batch["documents"] for batch in payload["batches"]]
    assert payload["documents"] == sum(map(len, found))
    return found


def test_the_tenants_documents_below_the_prefix_are_listed_in_order(bench: Bench) -> None:
    for tenant, key in (
        ("default", "guides/b.md"),
        ("default", "guides/a.md"),
        ("default", "x.md"),
    ):
        bench.documents.add(tenant, key, "text")
    bench.documents.add("other", "guides/c.md", "text")
    assert batches(bench) == [["guides/a.md", "guides/b.md"]]
    assert batches(bench, "") == [["guides/a.md", "guides/b.md", "x.md"]]


def test_a_batch_holds_as_many_documents_as_allowed_and_no_more(bench: Bench) -> None:
    for number in range(BATCH_DOCUMENTS + 1):
        bench.documents.add("default", f"guides/{number:03d}.md", "x")
    assert [len(batch) for batch in batches(bench)] == [BATCH_DOCUMENTS, 1]


def test_a_batch_holds_as_many_bytes_as_allowed_and_a_big_document_goes_alone(
    bench: Bench,
) -> None:
    for key, size in (("a", BATCH_BYTES - 1), ("b", 1), ("c", 1), ("d", 9 * BATCH_BYTES), ("e", 1)):
        bench.documents.add("default", f"guides/{key}", "x", size=size)
    assert [[key[-1] for key in batch] for batch in batches(bench)] == [
        ["a", "b"],
        ["c"],
        ["d"],
        ["e"],
    ]


def test_nothing_below_the_prefix_is_an_error_that_says_what_to_do(bench: Bench) -> None:
    with pytest.raises(InvalidInput, match="no documents below 'guides/'; upload some first"):
        bench.run("list_documents")


def test_more_than_one_execution_can_take_is_refused(bench: Bench) -> None:
    for number in range(BATCHES + 1):
        bench.documents.add("default", f"guides/{number:05d}", "x", size=BATCH_BYTES)
    with pytest.raises(InvalidInput, match="narrower prefixes"):
        bench.run("list_documents")
