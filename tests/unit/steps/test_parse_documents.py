"""A bad document is named and the others go on."""

from unit.steps.bench import Bench


def test_each_document_has_a_text_or_the_reason_why_not(bench: Bench) -> None:
    bench.documents.add("default", "guides/yaks.md", "A yak-canary is an ox.")
    yaks, gone = bench.value(bench.run("parse_documents")["texts"])
    assert (yaks["state"], yaks["pages"]) == ("ok", ["A yak-canary is an ox."])
    assert (gone["document"], gone["state"]) == ("guides/gone.md", "skipped_deleted")
    assert gone["problem"]


def test_another_tenants_document_is_not_there(bench: Bench) -> None:
    bench.documents.add("other", "guides/yaks.md", "Secret.")
    yaks, _ = bench.value(bench.run("parse_documents")["texts"])
    assert yaks["state"] == "skipped_deleted"


def test_no_documents_are_no_texts(bench: Bench) -> None:
    assert bench.value(bench.run("parse_documents", documents=[])["texts"]) == []
