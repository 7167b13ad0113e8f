"""The admission protocol in plain Python: what stands in the table, and its transactions.

Small numbers stand for money, time and tokens: one call's worst case is `WORST`, it costs `COST`,
and a lease ends with the next tick of the clock. The queue has no order here: whoever serves it may
take any ticket, so that what holds of the model holds for every order of turns.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

WORST: Final = 2
COST: Final = 1
WAITS: Final = ("full", "paused", "money")
OPEN: Final = ("waiting", "granted", "calling")


class Adm(NamedTuple):
    """An admission; of one that ended only state, attempt and lost are told.

    A token's number is its place in the order of the askings too: `Asker.since`.
    """

    state: str
    token: int = 0
    wait: str = ""
    asked: int = 0
    redrive: int = 0
    attempt: int = 0
    lost: tuple[int, ...] = ()
    lease: int = 0
    slot: bool = False


class Worker(NamedTuple):
    """One process, between two of its calls to the world.

    Attributes:
        program: what it runs.
        pc: what it does next.
        inv: number of the invocation, which is the token of one that asks.
        seen: the admission as it was read.
        reply: the attempt whose reply it holds.
        made: the present attempt may have been made.
        tries: how often it tries again; -1 for once.
        target: the waiting call that it lets in, and `there`, how that was read.
        back: where it goes on after that.
        todo: calls of the run still to look at, as they were listed.
        known: what Step Functions said of runs, where it is asked but once.
    """

    program: str
    pc: str
    run: int = -1
    inv: int = 0
    redrive: int = 0
    seen: Adm | None = None
    reply: int = 0
    made: bool = False
    tries: int = 0
    target: int = -1
    there: Adm | None = None
    back: str = ""
    todo: tuple[tuple[int, Adm | None], ...] = ()
    known: tuple[tuple[int, int], ...] = ()


class Call(NamedTuple):
    """One call path: its records, its place in the machine, its workers, what the world knows.

    Attributes:
        record: attempt of the call record, 0 for none.
        late: attempts whose worst case was replaced by what they cost.
        returned: attempts that the provider answered, and so wants to be paid.
        kept: attempts whose reply is an artifact.
        phase: where the machine stands: admit, call, again (after a call in progress), done.
        inv: the invocation that the machine waits for.
    """

    adm: Adm | None = None
    tickets: frozenset[int] = frozenset()
    record: int = 0
    late: tuple[int, ...] = ()
    returned: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()
    phase: str = "admit"
    inv: int = 1
    workers: tuple[Worker, ...] = ()


class Run(NamedTuple):
    """META, BUDGET, and the execution as Step Functions knows it."""

    status: str = "running"
    paused: bool = False
    stopped: bool = False
    redrive: int = 0
    ceiling: int = 0
    available: int = 0
    reserved: int = 0
    spent: int = 0
    running: bool = True
    redrives: int = 0

    @property
    def going(self) -> bool:
        """Neither paused nor stopped nor at its end."""
        return not self.paused and not self.stopped and self.status == "running"


class State(NamedTuple):
    """All of it; call `c` is of run `c // (calls // runs)`."""

    runs: tuple[Run, ...]
    calls: tuple[Call, ...]
    others: tuple[Worker, ...] = ()
    now: int = 0
    held: int = 0
    faults: tuple[int, ...] = ()

    def run_of(self, call: int) -> int:
        """Whose call it is."""
        return call * len(self.runs) // len(self.calls)

    def run_set(self, number: int, **fields: object) -> "State":
        """With a run changed."""
        new = self.runs[number]._replace(**fields)  # type: ignore[arg-type]  # by name
        return self._replace(runs=(*self.runs[:number], new, *self.runs[number + 1 :]))

    def call_set(self, number: int, **fields: object) -> "State":
        """With a call changed."""
        new = self.calls[number]._replace(**fields)  # type: ignore[arg-type]  # by name
        return self._replace(calls=(*self.calls[:number], new, *self.calls[number + 1 :]))


Moved = tuple[State, str]
"""The state after, and why it was refused: empty when it was not."""


class Transactions(NamedTuple):
    """The transactions of the gate, each with the conditions that the table checks.

    Attributes:
        limit: slots of the model.
        dropped: a condition that is not looked at, to see that its absence is found.
    """

    limit: int
    dropped: str = ""

    def _holds(self, name: str, condition: bool) -> bool:
        return condition or name == self.dropped

    # --- Let in -----------------------------------------------------------------------------------

    def grant(self, state: State, call: int, wanted: Adm) -> Moved:
        """In order of weight: the admission as seen, the run, the money, the slot."""
        of, at = state.calls[call], state.run_of(call)
        run = state.runs[at]
        if not self._as_wanted(of.adm, wanted):
            return state, "standing"
        if not self._holds("going", run.going):
            return state, halted(run)
        if not self._holds("money", run.available >= WORST):
            return state, "money"
        if not self._holds("slot", state.held < self.limit):
            return state, "full"
        granted = _asked(of.adm, wanted, state="granted", slot=True, wait="")
        state = state.call_set(call, adm=granted, tickets=self._without_ticket(of, wanted))
        state = state.run_set(at, available=run.available - WORST, reserved=run.reserved + WORST)
        return state._replace(held=state.held + 1), ""

    def park(self, state: State, call: int, wanted: Adm, wait: str) -> Moved:
        """For a reason that still stands."""
        of, run = state.calls[call], state.runs[state.run_of(call)]
        reason = {"full": True, "paused": run.paused, "money": run.available < WORST}[wait]
        if not self._as_wanted(of.adm, wanted) or not self._holds("reason", reason):
            return state, "standing"
        parked = _asked(of.adm, wanted, state="waiting", slot=False, wait=wait)
        tickets = of.tickets if wanted.wait == wait else self._without_ticket(of, wanted)
        if wait == "full":
            tickets |= {parked.asked}
        return state.call_set(call, adm=parked, tickets=tickets), ""

    def unpark(self, state: State, call: int, waiting: Adm) -> Moved:
        """Nobody waits any more."""
        of = state.calls[call]
        if not self._still_waiting(of.adm, waiting):
            return state, "standing"
        return (
            state.call_set(
                call, adm=_over(of.adm, "released"), tickets=self._without_ticket(of, waiting)
            ),
            "",
        )

    def ask_again(self, state: State, call: int, standing: Adm, token: int, redrive: int) -> Moved:
        """Another token for the same place."""
        adm = state.calls[call].adm
        if adm is None or (adm.state, adm.token) != (standing.state, standing.token):
            return state, "standing"
        if not self._holds("since", adm.token <= token):
            return state, "standing"
        return state.call_set(call, adm=adm._replace(token=token, redrive=redrive)), ""

    def _as_wanted(self, adm: Adm | None, wanted: Adm) -> bool:
        if wanted.wait:
            return self._still_waiting(adm, wanted)
        return adm is None or adm.state in ("lost", "released")

    def _still_waiting(self, adm: Adm | None, seen: Adm) -> bool:
        return (
            adm is not None
            and adm.state == "waiting"
            and self._holds("token", adm.token == seen.token)
            and adm.wait == seen.wait
        )

    def _without_ticket(self, of: Call, waiting: Adm) -> frozenset[int]:
        if waiting.wait != "full" or self.dropped == "ticket":
            return of.tickets
        return of.tickets - {waiting.asked}

    # --- Call -------------------------------------------------------------------------------------

    def begin(self, state: State, call: int) -> Moved:
        """From granted to calling."""
        adm = state.calls[call].adm
        if adm is None or adm.state != "granted":
            return state, "standing"
        calling = adm._replace(state="calling", attempt=adm.attempt + 1, lease=state.now + 1)
        return state.call_set(call, adm=calling), ""

    def renew(self, state: State, call: int, seen: Adm, until: int) -> Moved:
        """The worker lives, or says that it gave up."""
        adm = state.calls[call].adm
        if adm is None or not self._still_calling(adm, seen):
            return state, "standing"
        return state.call_set(call, adm=adm._replace(lease=until)), ""

    def repeat(self, state: State, call: int, seen: Adm) -> Moved:
        """The attempt as seen is lost, the next one reserved."""
        adm, at = state.calls[call].adm, state.run_of(call)
        run = state.runs[at]
        if adm is None or not self._lease_as_seen(adm, seen):
            return state, "standing"
        if not self._holds("going", run.going):
            return state, halted(run)
        if not self._holds("money", run.available >= WORST):
            return state, "money"
        following = adm._replace(
            attempt=adm.attempt + 1, lost=(*adm.lost, seen.attempt), lease=state.now + 1
        )
        state = state.call_set(call, adm=following)
        return state.run_set(at, available=run.available - WORST, spent=run.spent + WORST), ""

    def uncharge(self, state: State, call: int, seen: Adm) -> Moved:
        """The model was not reached: granted again."""
        adm, run = state.calls[call].adm, state.runs[state.run_of(call)]
        if adm is None or not self._still_calling(adm, seen):
            return state, "standing"
        if not self._holds("going", run.going):
            return state, halted(run)
        return state.call_set(call, adm=adm._replace(state="granted", lease=0)), ""

    def _still_calling(self, adm: Adm, seen: Adm) -> bool:
        same = self._holds("attempt", adm.attempt == seen.attempt)
        return adm.state == "calling" and same

    def _lease_as_seen(self, adm: Adm, seen: Adm) -> bool:
        return self._still_calling(adm, seen) and self._holds("lease", adm.lease == seen.lease)

    # --- End --------------------------------------------------------------------------------------

    def settle(self, state: State, call: int, seen: Adm) -> Moved:
        """What was set aside becomes what it cost."""
        adm = state.calls[call].adm
        if adm is None or not self._still_calling(adm, seen):
            return state, "standing"
        state = state.call_set(call, adm=_over(adm, "settled"), record=seen.attempt)
        return _freed(state, call, seen, spent=COST), ""

    def settle_late(self, state: State, call: int, standing: Adm, attempt: int) -> Moved:
        """What was lost counts what it cost."""
        of, place = state.calls[call], standing.lost.index(attempt)
        adm = of.adm
        if adm is None or adm.lost[place : place + 1] != (attempt,):
            return state, "standing"
        lost = adm.lost[:place] + adm.lost[place + 1 :]
        state = state.call_set(call, adm=adm._replace(lost=lost), late=_with(of.late, attempt))
        return _spent(state, state.run_of(call), COST - WORST), ""

    def recover(self, state: State, call: int, seen: Adm, attempt: int, made: bool) -> Moved:
        """By the reply of an earlier attempt; the present one is lost if it may have been made."""
        of = state.calls[call]
        if of.adm is None or not self._lease_as_seen(of.adm, seen) or of.adm.lost != seen.lost:
            return state, "standing"
        lost = tuple(one for one in seen.lost if one != attempt)
        lost = (*lost, seen.attempt) if made else lost
        state = state.call_set(
            call,
            adm=_over(of.adm, "settled")._replace(lost=lost),
            record=attempt,
            late=tuple(one for one in of.late if one != attempt),
        )
        counted = WORST if attempt in seen.lost else COST
        return _freed(state, call, seen, spent=COST - counted + (WORST if made else 0)), ""

    def lose(self, state: State, call: int, seen: Adm) -> Moved:
        """What it cost is unknown."""
        adm = state.calls[call].adm
        if adm is None or not self._lease_as_seen(adm, seen):
            return state, "standing"
        lost = _over(adm, "lost")._replace(lost=(*adm.lost, seen.attempt))
        return _freed(state.call_set(call, adm=lost), call, seen, spent=WORST), ""

    def release(self, state: State, call: int, seen: Adm) -> Moved:
        """The call will not be made."""
        adm = state.calls[call].adm
        if adm is None or adm.state != seen.state:
            return state, "standing"
        if not self._holds("attempt", adm.attempt == seen.attempt):
            return state, "standing"
        return _freed(state.call_set(call, adm=_over(adm, "released")), call, seen, spent=0), ""

    # --- The run ----------------------------------------------------------------------------------

    def close_run(self, state: State, at: int, redrive: int) -> Moved:
        """Ordered by redrive count, then running before any end."""
        run = state.runs[at]
        if not (run.redrive < redrive or (run.redrive == redrive and run.status == "running")):
            return state, "standing"
        return state.run_set(at, status="ended", redrive=redrive), ""

    def reopen(self, state: State, at: int, redrive: int) -> Moved:
        """By a later redrive, unless it was stopped."""
        run = state.runs[at]
        if run.redrive >= redrive or run.stopped:
            return state, "standing"
        return state.run_set(at, status="running", redrive=redrive), ""

    def pause(self, state: State, at: int, paused: bool) -> Moved:
        """While the run has not ended."""
        if state.runs[at].status != "running":
            return state, "standing"
        return state.run_set(at, paused=paused), ""

    def stop(self, state: State, at: int) -> Moved:
        """For ever."""
        return state.run_set(at, stopped=True), ""


Transaction = Callable[..., Moved]


def halted(run: Run) -> str:
    """Why a run does not go on."""
    if run.stopped:
        return "stopped"
    return "closed" if run.status != "running" else "paused"


def _asked(adm: Adm | None, wanted: Adm, **fields: object) -> Adm:
    attempt, lost = (0, ()) if adm is None else (adm.attempt, adm.lost)
    new = wanted._replace(**fields)  # type: ignore[arg-type]  # by name
    return new._replace(attempt=attempt, lost=lost, lease=0)


def _over(adm: Adm | None, end: str) -> Adm:
    assert adm is not None
    return Adm(state=end, attempt=adm.attempt, lost=adm.lost)


def _freed(state: State, call: int, seen: Adm, spent: int) -> State:
    """Slot and money of an admission that ended, of which so much is spent."""
    at = state.run_of(call)
    state = state.run_set(at, reserved=state.runs[at].reserved - WORST)
    run = state.runs[at]
    state = state.run_set(at, spent=run.spent + spent, available=run.available + WORST - spent)
    return state._replace(held=state.held - 1) if seen.slot else state


def _spent(state: State, at: int, more: int) -> State:
    run = state.runs[at]
    return state.run_set(at, spent=run.spent + more, available=run.available - more)


def _with(some: tuple[int, ...], one: int) -> tuple[int, ...]:
    return tuple(sorted((*some, one)))
