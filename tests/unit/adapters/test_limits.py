"""Limits of models in the table: slots over shards, calls and tokens of a minute, turns."""

from datetime import timedelta

import pytest

from autoops.adapters.keys import shard_of
from autoops.domain.admissions import AdmissionState, Limit, Wait
from gate_bench import GateBench
from samples import CALL, MODEL, RUN, claim

MINUTE = timedelta(minutes=1)


def opened(limit: Limit) -> GateBench:
    bench = GateBench({"*": limit})
    bench.open(RUN)
    return bench


def ask(bench: GateBench, number: int, tokens: int = 0) -> AdmissionState:
    asked = claim(call=f"{CALL}/{number}").model_copy(update={"tokens": tokens})
    return bench.ask(RUN, asked, f"token-{number}").state


def granted(bench: GateBench) -> int:
    return sum(state is AdmissionState.GRANTED for state in bench.states(RUN).values())


def test_calls_spread_over_the_shards_and_no_shard_is_over_its_share() -> None:
    limit = Limit(concurrency=33)
    bench = opened(limit)
    for number in range(40):
        ask(bench, number)
    slots = [
        int(bench.dynamodb.items[f"LIMIT#{MODEL}", f"SLOT#{shard}"]["held"]["N"])
        for shard in range(limit.shards)
    ]
    assert slots == [17, 16]
    assert (granted(bench), len(bench.queue(MODEL))) == (33, 7)


def test_a_full_shard_sends_its_calls_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoops.adapters.admissions.shard_of", lambda _text, _shards: 1)
    bench = opened(Limit(concurrency=32))
    assert {ask(bench, number) for number in range(32)} == {AdmissionState.GRANTED}
    assert ask(bench, 32) is AdmissionState.WAITING


def test_the_shard_that_was_freed_is_the_one_that_is_tried_first() -> None:
    bench = opened(Limit(concurrency=64))
    for number in range(65):
        ask(bench, number)
    (waiting,) = [one for one in bench.view(RUN).admissions if one.wait is Wait.FULL]
    away = (shard_of(waiting.claim.call, 4) + 3) % 4
    held = next(one for one in bench.view(RUN).admissions if one.slot == away)
    bench.admissions.release(held)
    assert bench.gate.serve(MODEL, away)
    assert bench.held(MODEL) == 64


def test_every_model_is_counted_by_itself() -> None:
    bench = opened(Limit(concurrency=1))
    other = claim(call="other").model_copy(update={"model": "amazon.titan-embed-text-v2:0"})
    assert ask(bench, 0) is AdmissionState.GRANTED
    assert bench.ask(RUN, other).state is AdmissionState.GRANTED


def test_a_limit_that_was_lowered_lets_nobody_in_before_enough_have_ended() -> None:
    bench = opened(Limit(concurrency=3))
    for number in range(3):
        ask(bench, number)
    bench.limits["*"] = Limit(concurrency=1)
    assert ask(bench, 3) is AdmissionState.WAITING
    for left, one in zip((2, 1, 0), bench.view(RUN).admissions, strict=False):
        bench.admissions.release(one)
        assert bench.held(MODEL) == left
        assert bench.gate.serve(MODEL) == (left == 0)


def test_a_minute_takes_as_many_requests_as_it_may_and_the_next_one_the_others() -> None:
    bench = opened(Limit(requests=2))
    states = [ask(bench, number) for number in range(4)]
    assert states == [*[AdmissionState.GRANTED] * 2, *[AdmissionState.WAITING] * 2]
    assert not bench.gate.serve(MODEL)
    bench.clock.advance(MINUTE)
    assert [bench.gate.serve(MODEL) for _ in range(3)] == [True, True, False]
    assert bench.held(MODEL) == 0, "no slots are counted where only the minute is limited"


def test_a_minute_takes_no_more_tokens_than_it_may() -> None:
    bench = opened(Limit(tokens=100))
    assert ask(bench, 0, tokens=60) is AdmissionState.GRANTED
    assert ask(bench, 1, tokens=41) is AdmissionState.WAITING
    assert ask(bench, 2, tokens=40) is AdmissionState.GRANTED
    bench.clock.advance(MINUTE)
    assert bench.gate.serve(MODEL)


def test_a_call_of_more_tokens_than_a_minute_has_is_let_in_alone() -> None:
    bench = opened(Limit(tokens=100))
    assert ask(bench, 0, tokens=500) is AdmissionState.GRANTED
    assert ask(bench, 1, tokens=1) is AdmissionState.WAITING
    bench.clock.advance(MINUTE)
    assert bench.gate.serve(MODEL)
    assert ask(bench, 2, tokens=500) is AdmissionState.WAITING


def test_a_call_that_a_full_minute_refuses_takes_no_slot_and_no_money() -> None:
    bench = opened(Limit(concurrency=5, requests=1))
    ask(bench, 0)
    before = bench.money(RUN)
    assert ask(bench, 1) is AdmissionState.WAITING
    assert (bench.held(MODEL), bench.money(RUN)) == (1, before)


def test_counters_of_minutes_expire() -> None:
    bench = opened(Limit(requests=1))
    ask(bench, 0)
    (counter,) = [item for key, item in bench.dynamodb.items.items() if key[0] == f"RATE#{MODEL}"]
    kept = int(counter["expires"]["N"]) - bench.clock.now().timestamp()
    assert kept == timedelta(hours=1).total_seconds()
