"""Who is believed to be making a call: leases, their renewal, and who is let in when it ends."""

import threading
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from autoops.calls import PaidCalls
from autoops.domain.admissions import AdmissionState, Limit
from autoops.domain.model import ModelReply
from autoops.errors import (
    AutoOpsError,
    CallInProgress,
    ContextTooLong,
    DependencyUnavailable,
    ModelThrottled,
    ModelTimedOut,
)
from fakes import Killed, raising, tool
from gate_bench import DOLLAR, LEASE, GateBench
from samples import ANSWER, CALL, MODEL, RUN, claim
from unit.desk import ASKED, COST, WORST, Desk, spent


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_while_a_worker_is_believed_to_be_calling_nobody_repeats_its_call(desk: Desk) -> None:
    with pytest.raises(Killed):
        desk.make(Killed("kill -9"))
    desk.behind.clock.advance(LEASE - timedelta(seconds=1))
    with pytest.raises(CallInProgress):
        desk.make()
    assert (desk.asked, desk.money) == (1, (DOLLAR - WORST, WORST, 0))


def test_a_lease_begins_with_the_call_and_is_over_when_the_outcome_is_known_to_be_unknown(
    desk: Desk,
) -> None:
    ends = desk.behind.clock.now() + LEASE

    def look() -> ModelReply:
        assert desk.standing.lease_until == ends
        raise ModelTimedOut("x")

    with pytest.raises(ModelTimedOut):
        desk.behind.calls(RUN).make(ASKED, look)
    assert desk.standing.lease_until == desk.behind.clock.now()


def test_a_slow_call_renews_its_lease_while_the_model_works() -> None:
    desk = Desk()
    calls = replace(desk.behind.gate, lease=timedelta(milliseconds=15))
    renewed = threading.Event()
    desk.behind.watch = lambda moment: renewed.set() if moment == "after renew" else None

    def slow() -> ModelReply:
        assert renewed.wait(20), "no renewal while the model works"
        return tool(ANSWER)

    PaidCalls(RUN, calls, desk.behind.artifacts).make(ASKED, slow)
    assert desk.money == spent(COST)


def test_a_renewal_that_fails_is_tried_again_and_harms_no_call() -> None:
    desk = Desk()
    calls = replace(desk.behind.gate, lease=timedelta(milliseconds=15))
    down = raising("before renew", DependencyUnavailable("dynamodb: down"))
    renewed = threading.Event()

    def watch(moment: str) -> None:
        down(moment)
        if moment == "after renew":
            renewed.set()

    def slow() -> ModelReply:
        assert renewed.wait(20), "no renewal after one that failed"
        return tool(ANSWER)

    desk.behind.watch = watch
    PaidCalls(RUN, calls, desk.behind.artifacts).make(ASKED, slow)
    assert desk.money == spent(COST)


@pytest.mark.parametrize("end", [None, ModelThrottled, ContextTooLong])
def test_whoever_ends_a_call_lets_in_the_next(end: type[AutoOpsError] | None) -> None:
    behind = GateBench({"*": Limit(concurrency=1)})
    desk = Desk(behind=behind)
    other = claim(call=f"{CALL}1", worst=WORST)
    assert behind.ask(RUN, other, "other").state is AdmissionState.WAITING
    with suppress(AutoOpsError):
        desk.make(tool(ANSWER) if end is None else end("x"))
    assert [token for token, _ in behind.workflows.answered] == ["other"]
    assert (behind.held(MODEL), behind.queue(MODEL)) == (1, [])
