"""What becomes of an admitted call, and of a worker that comes too late."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from autoops.domain.admissions import Admission, AdmissionState, Settled
from autoops.errors import RunStopped
from gate_bench import GateBench
from samples import CALL, NOON, RUN, claim, record

if TYPE_CHECKING:
    from collections.abc import Callable

OTHER = "e" * 64


def calling(bench: GateBench, worst: int = 100) -> Admission:
    """An admission under which a worker is calling."""
    asked = claim(worst=worst)
    bench.ask(RUN, asked, token=None)
    begun = bench.admissions.begin(RUN, asked, bench.gate.lease_end())
    assert begun is not None
    assert begun.now
    return begun.admission


def repeated(bench: GateBench, first: Admission) -> Admission:
    """The next attempt after one whose outcome is unknown."""
    again = bench.admissions.repeat(first, bench.gate.lease_end())
    assert isinstance(again, Admission)
    return again


def standing(bench: GateBench) -> Admission:
    (admission,) = bench.view(RUN).admissions
    return admission


def settled_late(bench: GateBench, zombie: Admission, cost: int) -> bool:
    return bench.admissions.settle_late(standing(bench), zombie, record(zombie, cost=cost))


class CallContract:
    """What becomes of an admitted call."""

    def test_one_worker_begins_and_a_second_sees_that_it_is_under_way(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN)
        first = calling(bench)
        second = bench.admissions.begin(RUN, claim(), NOON + timedelta(hours=1))
        assert second is not None
        assert (second.now, second.admission) == (False, first)
        assert (first.state, first.attempt) == (AdmissionState.CALLING, 1)
        assert first.lease_until == bench.gate.lease_end()

    @pytest.mark.parametrize("asked", [False, True])
    def test_a_call_that_was_not_admitted_does_not_begin(
        self, bench: GateBench, asked: bool
    ) -> None:
        bench.open(RUN)
        if asked:
            bench.ask(RUN, claim())
        assert bench.admissions.begin(RUN, claim(fingerprint=OTHER), NOON) is None

    def test_a_call_that_waits_does_not_begin(self, bench: GateBench) -> None:
        bench.open(RUN)
        bench.ledger.pause(RUN.root, paused=True)
        bench.ask(RUN, claim())
        assert bench.admissions.begin(RUN, claim(), NOON) is None

    def test_settling_replaces_the_worst_case_by_the_actual_cost(self, bench: GateBench) -> None:
        bench.open(RUN, 1_000)
        begun = calling(bench)
        assert bench.admissions.settle(begun, record(begun, cost=40)) is Settled.DONE
        assert bench.money(RUN) == (960, 0, 40)
        assert bench.ledger.call_record(RUN, CALL) == record(begun, cost=40)
        assert bench.view(RUN).calls == (record(begun, cost=40),)
        assert standing(bench).state is AdmissionState.SETTLED

    def test_settled_twice_it_is_charged_once(self, bench: GateBench) -> None:
        bench.open(RUN, 1_000)
        begun = calling(bench)
        bench.admissions.settle(begun, record(begun))
        assert bench.admissions.settle(begun, record(begun)) is Settled.TAKEN_OVER
        assert bench.money(RUN) == (960, 0, 40)

    def test_the_settle_that_passes_the_soft_limit_says_so_once(self, bench: GateBench) -> None:
        bench.open(RUN, 100)
        said: list[Settled] = []
        for cost in (80, 1, 1):
            asked = claim(call=f"{CALL}/{len(said)}", worst=cost)
            bench.ask(RUN, asked, token=None)
            begun = bench.admissions.begin(RUN, asked, bench.gate.lease_end())
            assert begun is not None
            paid = record(begun.admission, cost=cost)
            said.append(bench.admissions.settle(begun.admission, paid))
        assert said == [Settled.DONE, Settled.WARNED, Settled.DONE]
        assert bench.budget(RUN).warned

    def test_a_settled_call_begins_as_settled(self, bench: GateBench) -> None:
        bench.open(RUN)
        begun = calling(bench)
        bench.admissions.settle(begun, record(begun))
        again = bench.admissions.begin(RUN, claim(), NOON)
        assert again is not None
        assert (again.now, again.admission.state) == (False, AdmissionState.SETTLED)

    def test_an_attempt_refused_without_charge_keeps_its_reservation(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN, 1_000)
        assert bench.admissions.uncharge(calling(bench))
        assert (bench.money(RUN), standing(bench).state) == (
            (900, 100, 0),
            AdmissionState.GRANTED,
        )
        assert calling(bench).attempt == 2

    def test_a_call_that_is_not_made_gives_its_money_back(self, bench: GateBench) -> None:
        bench.open(RUN, 1_000)
        assert bench.admissions.release(calling(bench))
        assert (bench.money(RUN), standing(bench).state) == (
            (1_000, 0, 0),
            AdmissionState.RELEASED,
        )
        assert bench.admissions.begin(RUN, claim(), NOON) is None

    def test_who_saw_an_earlier_admission_does_not_release_the_one_that_followed(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN, 1_000)
        seen = bench.ask(RUN, claim(worst=100))
        assert bench.admissions.release(seen)
        bench.clock.advance(timedelta(seconds=1))
        bench.ask(RUN, claim(fingerprint=OTHER, worst=30))
        assert not bench.admissions.release(seen)
        assert bench.money(RUN) == (970, 30, 0)

    def test_a_lost_attempt_is_charged_in_full_and_the_next_one_reserved(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN, 1_000)
        again = repeated(bench, calling(bench))
        assert (again.attempt, again.lost) == (2, (1,))
        assert standing(bench) == again
        assert bench.money(RUN) == (800, 100, 100)

    @pytest.mark.parametrize("refused", ["money", "stopped", "paused", "closed"])
    def test_a_repeat_that_is_refused_moves_nothing(self, bench: GateBench, refused: str) -> None:
        bench.open(RUN, 150 if refused == "money" else 1_000)
        begun = calling(bench)
        before = bench.money(RUN)
        if refused == "stopped":
            bench.ledger.stop(RUN.root)
        if refused == "paused":
            bench.ledger.pause(RUN.root, paused=True)
        if refused == "closed":
            bench.ledger.close_run(RUN.root, "FAILED", None, NOON, 0)
        assert bench.admissions.repeat(begun, bench.gate.lease_end()) == refused
        assert (bench.money(RUN), standing(bench)) == (before, begun)

    def test_of_two_workers_that_repeat_one_is_refused(self, bench: GateBench) -> None:
        bench.open(RUN, 1_000)
        begun = calling(bench)
        repeated(bench, begun)
        assert bench.admissions.repeat(begun, bench.gate.lease_end()) == "standing"
        assert bench.money(RUN) == (800, 100, 100)

    @pytest.mark.parametrize("move", ["repeat", "lose"])
    def test_a_lease_that_was_renewed_meanwhile_is_not_taken_over(
        self, bench: GateBench, move: str
    ) -> None:
        bench.open(RUN, 1_000)
        seen = calling(bench)
        assert bench.admissions.renew(seen, bench.gate.lease_end() + timedelta(seconds=1))
        if move == "repeat":
            assert bench.admissions.repeat(seen, bench.gate.lease_end()) == "standing"
        else:
            assert not bench.admissions.lose(seen)
        assert bench.money(RUN) == (900, 100, 0)

    def test_a_lost_call_is_charged_in_full_and_has_to_be_admitted_anew(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN, 1_000)
        assert bench.admissions.lose(calling(bench))
        assert (bench.money(RUN), standing(bench).state) == ((900, 0, 100), AdmissionState.LOST)
        assert bench.admissions.begin(RUN, claim(), NOON) is None
        bench.ask(RUN, claim())
        assert bench.money(RUN) == (800, 100, 100)

    @pytest.mark.parametrize("move", ["uncharge", "release", "lose", "renew", "repeat", "settle"])
    def test_a_worker_whose_attempt_was_taken_over_moves_no_money(
        self, bench: GateBench, move: str
    ) -> None:
        bench.open(RUN, 1_000)
        begun = calling(bench)
        repeated(bench, begun)
        act: Callable[..., Any] = getattr(bench.admissions, move)
        more: dict[str, object] = {"renew": NOON, "repeat": NOON, "settle": record(begun)}
        said = act(begun, more[move]) if move in more else act(begun)
        assert said in (False, "standing", Settled.TAKEN_OVER)
        assert bench.money(RUN) == (800, 100, 100)


class LateContract:
    """A worker that was given up and still comes back."""

    def test_a_late_settle_replaces_worst_by_actual_and_its_reply_does_not_count(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN, 1_000)
        zombie = calling(bench)
        second = repeated(bench, zombie)
        bench.admissions.settle(second, record(second, cost=50))
        assert settled_late(bench, zombie, 30)
        assert bench.money(RUN) == (920, 0, 80)
        kept = bench.ledger.call_record(RUN, CALL)
        assert kept is not None
        assert (kept.attempt, kept.cost) == (2, 50)

    def test_a_late_settle_before_the_repeat_ends_leaves_the_repeat_under_way(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN, 1_000)
        zombie = calling(bench)
        second = repeated(bench, zombie)
        assert settled_late(bench, zombie, 30)
        assert bench.money(RUN) == (870, 100, 30)
        bench.admissions.settle(second, record(second, cost=50))
        assert bench.money(RUN) == (920, 0, 80)

    def test_a_late_settle_of_a_call_given_up_is_counted_once(self, bench: GateBench) -> None:
        bench.open(RUN, 1_000)
        zombie = calling(bench)
        bench.admissions.lose(zombie)
        seen = standing(bench)
        assert bench.admissions.settle_late(seen, zombie, record(zombie, cost=30))
        assert not bench.admissions.settle_late(seen, zombie, record(zombie, cost=30))
        assert (bench.money(RUN), standing(bench).lost) == ((970, 0, 30), ())

    def test_a_worker_of_a_lost_admission_cannot_settle_the_one_that_followed(
        self, bench: GateBench
    ) -> None:
        bench.open(RUN, 1_000)
        zombie = calling(bench)
        bench.admissions.lose(zombie)
        fresh = calling(bench)
        assert fresh.attempt == 2
        assert bench.admissions.settle(zombie, record(zombie, cost=30)) is Settled.TAKEN_OVER
        assert settled_late(bench, zombie, 30)
        assert (bench.money(RUN), standing(bench).state) == (
            (870, 100, 30),
            AdmissionState.CALLING,
        )
        bench.admissions.settle(fresh, record(fresh, cost=50))
        assert bench.money(RUN) == (920, 0, 80)

    def test_a_late_settle_dearer_than_the_worst_case_stops_the_run(self, bench: GateBench) -> None:
        bench.open(RUN, 1_000)
        zombie = calling(bench)
        repeated(bench, zombie)
        assert settled_late(bench, zombie, 170)
        assert (bench.money(RUN), bench.budget(RUN).over) == ((800, 100, 170), 70)
        with pytest.raises(RunStopped):
            bench.ask(RUN, claim(call=f"{CALL}1"))

    def test_settling_a_call_that_gave_its_money_back_is_refused(self, bench: GateBench) -> None:
        bench.open(RUN, 1_000)
        begun = calling(bench)
        bench.admissions.release(begun)
        assert bench.admissions.settle(begun, record(begun)) is Settled.TAKEN_OVER
        assert bench.money(RUN) == (1_000, 0, 0)

    @pytest.mark.parametrize(("made", "money"), [(True, (870, 0, 130)), (False, (970, 0, 30))])
    def test_a_kept_reply_of_an_attempt_given_up_settles_the_call(
        self, bench: GateBench, made: bool, money: tuple[int, int, int]
    ) -> None:
        bench.open(RUN, 1_000)
        first = calling(bench)
        second = repeated(bench, first)
        assert bench.admissions.recover(second, record(first, cost=30), made=made)
        assert not bench.admissions.recover(second, record(first, cost=30), made=made)
        assert bench.money(RUN) == money
        assert standing(bench).state is AdmissionState.SETTLED
        assert standing(bench).lost == ((2,) if made else ())
