"""An answer is as good as the citations that stand."""

import pytest

from autoops.domain.contracts import Json, plain
from unit.steps.bench import Bench

STANDS: Json = {"passage": "p1", "quote": "an ox with long hair"}
FALSE: Json = {"passage": "p1", "quote": "a canary bird"}
BLANK: Json = {"passage": "p1", "quote": " "}


def process(bench: Bench, citations: list[Json], *, answered: bool = True) -> Json:
    said = {"answered": answered, "text": "A yak-canary is an ox.", "citations": citations}
    return bench.run("post_process", answer=plain(bench.artifacts.put("default", said)))


def test_a_citation_is_resolved_to_document_and_place_and_a_false_one_dropped(
    bench: Bench,
) -> None:
    payload = bench.run("post_process")
    assert (payload["outcome"], payload["dropped"]) == ("answered", 1)
    assert bench.value(payload["answer"])["citations"] == [
        {
            "document": "guides/yaks.md",
            "title": "Yaks",
            "place": "lines 1-3",
            "quote": "an ox with long hair",
        }
    ]


@pytest.mark.parametrize("citations", [[], [FALSE], [BLANK], [FALSE, BLANK]])
def test_an_answer_without_a_citation_that_stands_is_ungrounded(
    bench: Bench, citations: list[Json]
) -> None:
    payload = process(bench, citations)
    assert (payload["outcome"], payload["dropped"]) == ("ungrounded", len(citations))


def test_a_citation_given_twice_is_shown_once_and_none_is_dropped(bench: Bench) -> None:
    payload = process(bench, [STANDS, STANDS])
    assert (payload["outcome"], payload["dropped"]) == ("answered", 0)
    assert len(bench.value(payload["answer"])["citations"]) == 1


def test_a_model_that_abstains_cites_nothing(bench: Bench) -> None:
    payload = process(bench, [STANDS], answered=False)
    assert payload["outcome"] == "abstained"
    assert bench.value(payload["answer"])["citations"] == []
