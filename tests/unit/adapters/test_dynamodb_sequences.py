"""Any sequence of moves, by workers that may be long out of date, keeps money and slots whole."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from autoops.domain.admissions import Admission, AdmissionState, Limit, Wait
from autoops.domain.ledger import OnBudget
from autoops.errors import AutoOpsError
from gate_bench import GateBench
from samples import CALL, MODEL, RUN, claim, record

CEILING = 1_000
SLOTS = 2
WAITING = (AdmissionState.WAITING,)
CALLING = (AdmissionState.CALLING,)
HELD = (AdmissionState.GRANTED, *CALLING)
PATHS = [f"{CALL}/{number}" for number in range(4)]
WORSTS = {"e" * 64: 300, "f" * 64: 10}
KINDS = [
    *["ask", "ask", "begin", "begin"],
    *["repeat", "settle", "late", "recover", "lose", "release", "uncharge", "renew"],
    *["let_in", "serve", "unpark", "pause", "resume", "raise"],
]


@dataclass(frozen=True)
class Move:
    """What some worker does next, to an admission of its own that may be long out of date."""

    kind: str
    path: str
    fingerprint: str
    cost: int
    seen: int


moves = st.builds(
    Move,
    kind=st.sampled_from(KINDS),
    path=st.sampled_from(PATHS),
    fingerprint=st.sampled_from(sorted(WORSTS)),
    cost=st.sampled_from([0, 1, 10, 300]),
    seen=st.integers(0, 25),
)


@dataclass
class Workers:
    """Workers on one run, and the admissions that they saw.

    Attributes:
        seen: as they stood after some move.
    """

    bench: GateBench = field(default_factory=lambda: GateBench({"*": Limit(concurrency=SLOTS)}))
    seen: list[Admission] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bench.open(RUN, CEILING, on_budget=OnBudget.ASK)

    def make(self, move: Move) -> None:
        self.bench.clock.advance(timedelta(seconds=1))
        try:
            self._make(move)
        except AutoOpsError:
            return
        finally:
            self.seen += self.bench.view(RUN).admissions

    def _make(self, move: Move) -> None:
        asked = claim(move.path, move.fingerprint, WORSTS[move.fingerprint])
        if move.kind == "ask":
            self.bench.ask(RUN, asked, f"token-{len(self.seen)}")
        elif move.kind == "begin":
            self.bench.admissions.begin(RUN, asked, self.bench.gate.lease_end())
        elif move.kind == "serve":
            self.bench.gate.serve(MODEL)
        elif move.kind in ("pause", "resume"):
            self.bench.ledger.pause(RUN.root, paused=move.kind == "pause")
        elif move.kind == "raise":
            self.bench.ledger.raise_ceiling(RUN.root, 100, 2 * CEILING)
        elif self.seen:
            self._go_on(move, self.seen[-1 - move.seen % len(self.seen)])

    def _go_on(self, move: Move, seen: Admission) -> None:
        """A move on an admission, if it is one that its state as it was seen allows."""
        admissions, gate = self.bench.admissions, self.bench.gate
        acts: Mapping[str, tuple[Collection[AdmissionState], Callable[[], object]]] = {
            "let_in": (WAITING, lambda: gate.let_in(seen)),
            "unpark": (WAITING, lambda: admissions.unpark(seen)),
            "release": (HELD, lambda: admissions.release(seen)),
            "renew": (CALLING, lambda: admissions.renew(seen, gate.lease_end())),
            "repeat": (CALLING, lambda: admissions.repeat(seen, gate.lease_end())),
            "lose": (CALLING, lambda: admissions.lose(seen)),
            "uncharge": (CALLING, lambda: admissions.uncharge(seen)),
            "settle": (CALLING, lambda: gate.settle(seen, record(seen, move.cost))),
            "late": (tuple(AdmissionState), lambda: self._late(seen, move.cost)),
            "recover": (CALLING, lambda: self._recovered(seen, move.cost)),
        }
        states, act = acts[move.kind]
        if seen.state in states:
            act()

    def _late(self, seen: Admission, cost: int) -> None:
        for attempt in seen.lost[:1]:
            given_up = seen.model_copy(update={"attempt": attempt})
            self.bench.admissions.settle_late(seen, given_up, record(given_up, cost))

    def _recovered(self, seen: Admission, cost: int) -> None:
        for attempt in seen.lost[:1]:
            given_up = seen.model_copy(update={"attempt": attempt})
            self.bench.admissions.recover(seen, record(given_up, cost), made=bool(cost))

    def check(self) -> None:
        admissions = self.bench.view(RUN).admissions
        held = [each for each in admissions if each.state in HELD]
        waiting = [each for each in admissions if each.state is AdmissionState.WAITING]
        budget = self.bench.budget(RUN)
        assert budget.reserved == sum(each.claim.worst for each in held)
        assert self.bench.held(MODEL) == len(held) <= SLOTS
        assert all((each.wait is None) == (each not in waiting) for each in admissions)
        queued = sorted(each.claim.call for each in waiting if each.wait is Wait.FULL)
        assert sorted(self.bench.queue(MODEL)) == queued
        opened = {each.claim.call for each in self.bench.admissions.open()}
        assert opened == {each.claim.call for each in admissions if not each.ended}


@given(st.lists(moves, min_size=3, max_size=30))
@settings(max_examples=400, phases=(Phase.explicit, Phase.generate, Phase.shrink))
def test_any_sequence_keeps_money_slots_and_queue_whole(sequence: Sequence[Move]) -> None:
    workers = Workers()
    for move in sequence:
        workers.make(move)
        workers.check()
