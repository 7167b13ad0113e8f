"""A slice of a run's money: one reservation, spent inside, the rest given back, the sum kept."""

import pytest

from autoops.domain.admissions import AdmissionState
from autoops.domain.claims import claim_for_texts
from autoops.domain.contracts import Run
from autoops.domain.model import ModelReply
from autoops.domain.pricing import Usage
from autoops.errors import BudgetExceeded, RunStopped
from gate_bench import DOLLAR, GateBench

RUN = Run(id="r1", root="ingest-documents:r1", workflow="ingest-documents", tenant="default")
EMBEDDER = "amazon.titan-embed-text-v2:0"
REPLY = ModelReply(stop_reason="end_turn", text="", tool_input=[], usage=Usage(input=3))
PART = 1_000_000


@pytest.fixture
def bench() -> GateBench:
    made = GateBench()
    made.open(RUN)
    return made


def made(bench: GateBench, part: Run, call: str = "ingest-documents:r1/EmbedChunks/0/0") -> int:
    """Make one call from the slice; what it cost."""
    claim = claim_for_texts(call, EMBEDDER, ("one", "two"))
    bench.ask(part, claim)
    _, record = bench.calls(part).make(claim, lambda: REPLY)
    return record.cost


def test_a_slice_is_one_reservation_and_its_calls_do_not_touch_the_runs_budget(
    bench: GateBench,
) -> None:
    part = bench.ledger.open_slice(RUN, "EmbedChunks/0", PART)
    assert bench.money(RUN) == (DOLLAR - PART, PART, 0)
    cost = made(bench, part)
    assert cost > 0
    assert bench.money(RUN) == (DOLLAR - PART, PART, 0)


def test_a_closed_slice_gives_back_what_it_did_not_spend(bench: GateBench) -> None:
    part = bench.ledger.open_slice(RUN, "EmbedChunks/0", PART)
    cost = made(bench, part)
    assert bench.ledger.close_slice(part)
    assert bench.money(RUN) == (DOLLAR - cost, 0, cost)
    assert not bench.ledger.close_slice(part), "once"
    assert bench.money(RUN) == (DOLLAR - cost, 0, cost)


def test_opened_again_by_a_retry_a_slice_is_the_same(bench: GateBench) -> None:
    first = bench.ledger.open_slice(RUN, "EmbedChunks/0", PART)
    assert bench.ledger.open_slice(RUN, "EmbedChunks/0", PART) == first
    assert bench.money(RUN) == (DOLLAR - PART, PART, 0)


def test_a_slice_over_what_is_left_is_refused(bench: GateBench) -> None:
    with pytest.raises(BudgetExceeded, match="slice EmbedChunks/0"):
        bench.ledger.open_slice(RUN, "EmbedChunks/0", DOLLAR + 1)
    assert bench.money(RUN) == (DOLLAR, 0, 0)


def test_a_call_over_its_slice_is_refused_though_the_run_has_more(bench: GateBench) -> None:
    part = bench.ledger.open_slice(RUN, "EmbedChunks/0", 1)
    with pytest.raises(BudgetExceeded):
        made(bench, part)


def test_a_slice_with_a_call_under_way_stays_open(bench: GateBench) -> None:
    part = bench.ledger.open_slice(RUN, "EmbedChunks/0", PART)
    claim = claim_for_texts("ingest-documents:r1/EmbedChunks/0/0", EMBEDDER, ("one",))
    bench.ask(part, claim)
    assert not bench.ledger.close_slice(part)


def test_stopping_a_run_stops_its_slices(bench: GateBench) -> None:
    part = bench.ledger.open_slice(RUN, "EmbedChunks/0", PART)
    claim = claim_for_texts("ingest-documents:r1/EmbedChunks/0/0", EMBEDDER, ("one",))
    bench.ask(part, claim)
    bench.operations.stop(RUN.root)
    (admission,) = bench.admissions.of_run(RUN.root)
    assert admission.state is AdmissionState.RELEASED
    with pytest.raises(RunStopped):
        made(bench, part, "ingest-documents:r1/EmbedChunks/0/1")
    with pytest.raises(RunStopped):
        bench.ledger.open_slice(RUN, "EmbedChunks/1", PART)


def test_the_end_of_a_run_gives_back_what_its_slices_hold(bench: GateBench) -> None:
    part = bench.ledger.open_slice(RUN, "EmbedChunks/0", PART)
    cost = made(bench, part)
    bench.workflows.running.clear()
    bench.ledger.close_run(RUN.root, "FAILED", None, bench.clock.now(), 0)
    assert bench.closing().close(RUN.root) == 1
    assert bench.money(RUN) == (DOLLAR - cost, 0, cost)
