"""The answer is kept with its run and announced, once, without its content."""

import pytest

from autoops.domain.contracts import to_json
from autoops.errors import DependencyUnavailable
from fakes import raising
from unit.steps.bench import Bench


def test_the_answer_is_kept_with_the_run_and_announced(bench: Bench) -> None:
    run = bench.open("persist_answer")
    payload = bench.run("persist_answer")
    seen = bench.view(run.root)
    assert (payload["run"], payload["outcome"], seen.outcome) == (run.root, "answered", "answered")
    assert seen.result is not None
    assert bench.artifacts.get("default", seen.result) == bench.value(payload["answer"])
    assert bench.events.published == [("AnswerPersisted", {"run": run.root, "outcome": "answered"})]


def test_where_nothing_was_found_the_answer_says_so_and_cites_nothing(bench: Bench) -> None:
    bench.open("persist_answer")
    payload = bench.run("persist_answer", "no_context")
    assert payload["outcome"] == "no_context"
    answer = bench.value(payload["answer"])
    assert answer == {"text": "The documents hold nothing on this.", "citations": []}


def test_a_second_delivery_announces_nothing_again(bench: Bench) -> None:
    bench.open("persist_answer")
    first = bench.run("persist_answer")
    assert bench.run("persist_answer") == first
    assert len(bench.events.published) == 1


def test_an_announcement_that_failed_is_made_by_the_retry(bench: Bench) -> None:
    bench.open("persist_answer")
    bench.events.watch = raising("before publish", DependencyUnavailable("events: down"))
    with pytest.raises(DependencyUnavailable):
        bench.run("persist_answer")
    bench.run("persist_answer")
    assert len(bench.events.published) == 1


def test_what_is_announced_holds_no_content(bench: Bench) -> None:
    bench.open("persist_answer")
    bench.run("persist_answer")
    assert "canary" not in to_json(bench.events.published)
