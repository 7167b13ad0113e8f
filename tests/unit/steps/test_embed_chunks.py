"""Chunks are embedded under an admitted call, once."""

import pytest

from autoops.domain.vectors import Vectors
from autoops.errors import AdmissionLost, ModelFaulted, OutcomeUnknown
from unit.steps.bench import DOLLAR, Bench

TEXT = "A yak-canary is an ox with long hair."


def test_each_text_has_its_vector(bench: Bench) -> None:
    bench.admit("embed_chunks")
    vectors = Vectors.read(bench.value(bench.run("embed_chunks")["vectors"]))
    (row,) = vectors.rows()
    assert row == pytest.approx(bench.embedder.vector(TEXT))


def test_a_retry_returns_the_vectors_that_were_paid_for(bench: Bench) -> None:
    bench.admit("embed_chunks")
    assert bench.run("embed_chunks") == bench.run("embed_chunks")
    assert bench.embedder.texts == [(TEXT,)]


def test_an_embedder_that_tells_no_tokens_is_charged_in_full(bench: Bench) -> None:
    claim = bench.admit("embed_chunks")
    bench.embedder.counted = False
    bench.run("embed_chunks")
    (record,) = bench.view("ingest-documents:i1").calls
    assert (record.cost, record.estimated) == (claim.worst, True)


def test_a_batch_that_breaks_off_is_charged_and_repeated_once(bench: Bench) -> None:
    claim = bench.admit("embed_chunks")
    bench.embedder.script = [ModelFaulted("broke off"), ModelFaulted("broke off")]
    for error in (ModelFaulted, ModelFaulted, OutcomeUnknown):
        with pytest.raises(error):
            bench.run("embed_chunks")
    budget = bench.view("ingest-documents:i1").budget
    assert (budget.available, budget.reserved) == (DOLLAR - 2 * claim.worst, 0)


def test_texts_that_were_not_admitted_are_not_embedded(bench: Bench) -> None:
    bench.admit("embed_chunks")
    other = bench.artifacts.put("default", ["Another text."])
    with pytest.raises(AdmissionLost):
        bench.run("embed_chunks", texts=other.model_dump())
    assert bench.embedder.texts == []
