"""What calls of a model share, and where an admission stands."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.domain.admissions import (
    MOST_SHARDS,
    Admission,
    AdmissionState,
    Asker,
    Limit,
    limit_of,
)
from samples import NOON, RUN, claim


def admission(state: AdmissionState, call: str = "a", seconds: int = 0) -> Admission:
    return Admission(
        run=RUN,
        claim=claim(call=call),
        asker=Asker(execution="arn"),
        state=state,
        asked_at=NOON + timedelta(seconds=seconds),
        lease_until=NOON if state is AdmissionState.CALLING else None,
    )


@given(st.integers(1, 5_000))
def test_the_shards_have_all_the_slots_together_and_none_is_empty(concurrency: int) -> None:
    limit = Limit(concurrency=concurrency)
    slots = [limit.slots(shard) for shard in range(limit.shards)]
    assert sum(slots) == concurrency
    assert min(slots) >= 1
    assert max(slots) - min(slots) <= 1
    assert limit.shards <= MOST_SHARDS


@pytest.mark.parametrize(("concurrency", "shards"), [(1, 1), (31, 1), (32, 2), (10_000, 8)])
def test_few_slots_lie_in_one_shard_and_many_in_a_few(concurrency: int, shards: int) -> None:
    assert Limit(concurrency=concurrency).shards == shards


def test_a_models_own_limit_comes_before_everybodys_and_none_is_none() -> None:
    own, every = Limit(concurrency=1), Limit(requests=2)
    assert limit_of({"m": own, "*": every}, "m") is own
    assert limit_of({"m": own, "*": every}, "n") is every
    assert limit_of({"m": own}, "n") == Limit()


@pytest.mark.parametrize(
    ("limit", "limited", "by_minute"),
    [
        (Limit(), False, False),
        (Limit(concurrency=1), True, False),
        (Limit(requests=1), True, True),
        (Limit(tokens=1), True, True),
    ],
)
def test_a_limit_says_whether_a_call_may_have_to_wait(
    limit: Limit, limited: bool, by_minute: bool
) -> None:
    assert (limit.limited, limit.by_minute) == (limited, by_minute)


def test_a_worker_is_believed_until_its_lease_ends() -> None:
    calling = admission(AdmissionState.CALLING)
    assert calling.alive(NOON - timedelta(microseconds=1))
    assert not calling.alive(NOON)
    assert not admission(AdmissionState.GRANTED).alive(NOON - timedelta(days=1))


@pytest.mark.parametrize("state", list(AdmissionState))
def test_an_admission_has_ended_or_holds_something(state: AdmissionState) -> None:
    assert admission(state).ended == (state in ("settled", "lost", "released"))


def test_who_asked_first_stands_first_whatever_its_path_is_called() -> None:
    waiting = AdmissionState.WAITING
    first, second = admission(waiting, "z", seconds=9), admission(waiting, "a", seconds=10)
    assert first.place < second.place
