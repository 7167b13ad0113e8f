"""What runs on the protocol: the programs of the gate, one call to the world at a time.

Each function named `_<program counter>` takes the state without the worker, and gives the ways on:
a label, the state after, and the worker after, None when it has ended.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from prove.admission_model import Adm, State, Transactions, Worker

TRIES: Final = 3
REPEATS: Final = 1
WRONG: Final = "WRONG: "
"""Begins the label of a way that no program may go."""

Way = tuple[str, State, Worker | None]


class Programs(NamedTuple):
    """The programs, over the transactions.

    Attributes:
        asks: runs wait for more money; they end otherwise.
        most: so many invocations a call's machine makes before its execution fails.
        defects: mended mistakes of programs that are made again, to see that they are found.
    """

    on: Transactions
    asks: bool = False
    most: int = 4
    defects: frozenset[str] = frozenset()

    # --- The machine ------------------------------------------------------------------------------

    def said(self, state: State, call: int, worker: Worker, result: str) -> State:
        """The machine hears how a worker ended, if it still waits for it."""
        of, at = state.calls[call], state.run_of(call)
        waits = of.phase == worker.program and of.inv == worker.inv and state.runs[at].running
        if worker.program not in ("admit", "call") or not waits or result == "parked":
            return state
        if result == "failed":
            return self.end(state, at)
        if result == "done":
            state = state.call_set(call, phase="done")
            calls = range(len(state.calls))
            over = all(state.calls[one].phase == "done" for one in calls if state.run_of(one) == at)
            return self.end(state, at) if over else state
        return self.invoke(state, call, result)

    def invoke(self, state: State, call: int, phase: str) -> State:
        """The machine goes to a state; one that was tried often enough fails."""
        of, at = state.calls[call], state.run_of(call)
        if of.inv >= self.most + 2 * state.runs[at].redrives:
            return self.end(state, at)
        if phase == "again":  # after a while; the machine waits for no worker meanwhile
            return state.call_set(call, phase=phase)
        new = Worker(
            phase,
            "grant" if phase == "admit" else "begin",
            inv=of.inv + 1,
            redrive=state.runs[at].redrives,
            tries=TRIES,
        )
        return with_worker(state.call_set(call, phase=phase, inv=of.inv + 1), call, new)

    def end(self, state: State, at: int) -> State:
        """The execution ends; its event is on the way."""
        closing = Worker("close", "close", run=at, redrive=state.runs[at].redrives)
        return with_worker(state.run_set(at, running=False), -1, closing)

    def wrong(self, state: State, call: int) -> str:
        """What begins the label of a call that was let in though its run does not go on."""
        return "" if state.runs[state.run_of(call)].going else WRONG

    def told(self, state: State, call: int, token: int) -> State | None:
        """The token is answered; None when nobody waits for it."""
        of = state.calls[call]
        waits = of.phase == "admit" and of.inv == token and state.runs[state.run_of(call)].running
        return self.invoke(state, call, "call") if waits else None

    # --- Ask --------------------------------------------------------------------------------------

    def grant(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """`Gate.ask`, once round."""
        after, refused = self.on.grant(state, call, wanted_by(w))
        if not refused:
            yield f"{self.wrong(state, call)}ask: granted", after, w._replace(pc="tell")
        elif refused == "standing":
            yield self._standing(state, call, w)
        elif refused == "closed":
            run = state.runs[state.run_of(call)]
            if run.running and run.redrives > run.redrive:
                yield "ask: closed", state, w._replace(pc="reopen", redrive=run.redrives)
            else:
                yield "ask: closed", self.said(state, call, w, "failed"), None
        elif refused == "stopped" or (refused == "money" and not self.asks):
            yield f"ask: {refused}", self.said(state, call, w, "failed"), None
        else:
            yield f"ask: {refused}", state, w._replace(pc="park", back=refused)

    def _standing(self, state: State, call: int, w: Worker) -> Way:
        adm = state.calls[call].adm
        assert adm is not None
        if adm.state in ("lost", "released"):
            return self._round(state, call, w, "ask: moved")
        if adm.token > w.inv and "any asker" not in self.defects:
            return "ask: a later try has asked", self.said(state, call, w, "admit"), None
        if adm.state == "settled":
            return "ask: settled before", state, w._replace(pc="tell")
        return "ask: stands", state, w._replace(pc="again", seen=adm)

    def _round(self, state: State, call: int, w: Worker, label: str) -> Way:
        if w.tries == 1:
            return label, self.said(state, call, w, "admit"), None
        return label, state, w._replace(pc="grant", tries=w.tries - 1, seen=None, back="")

    def again(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """The place is kept, the token replaced."""
        assert w.seen is not None
        after, refused = self.on.ask_again(state, call, w.seen, w.inv, w.redrive)
        if refused:
            yield self._round(state, call, w, "ask again: moved")
        elif w.seen.state == "waiting":
            yield "ask again: waits", after, None
        else:
            yield "ask again", after, w._replace(pc="tell", seen=None)

    def reopen(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """The run goes on: its execution was redriven."""
        after, _ = self.on.reopen(state, state.run_of(call), w.redrive)
        yield self._round(after, call, w, "reopen")

    def park(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """Wait, for a reason that still stands."""
        after, refused = self.on.park(state, call, wanted_by(w), w.back)
        if refused:
            yield self._round(state, call, w, "park: no reason any more")
        elif w.back == "full":
            yield "park: full", after, self.serving(w, "end")
        else:
            yield f"park: {w.back}", after, None

    def tell(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """The asker tells itself."""
        after = self.told(state, call, w.inv)
        yield "tell", state if after is None else after, None

    # --- Serve ------------------------------------------------------------------------------------

    def serving(self, w: Worker, back: str) -> Worker:
        """It lets in the next that waits, and goes on with `back`."""
        return w._replace(pc="serve", back=back, tries=TRIES, seen=None, target=-1, there=None)

    def _on(self, state: State, call: int, w: Worker, label: str, tried: str) -> Way:
        """After letting in: on to the next of the queue, or back to what was done before."""
        if w.tries < 0:
            return self._back(state, call, w, label)
        if tried == "in" and w.back == "serve":
            return label, state, self.serving(w, "serve")
        if tried in ("in", "full") or w.tries == 1:
            return self._back(state, call, w, label)
        return label, state, w._replace(pc="serve", tries=w.tries - 1, target=-1, there=None)

    def _back(self, state: State, call: int, w: Worker, label: str) -> Way:
        w = w._replace(tries=0, target=-1, there=None)
        if w.back == "next":
            return label, state, w._replace(pc="next", back="")
        if w.back in ("end", "serve"):
            return label, state, None
        return label, self.said(state, call, w, w.back), None

    def serve(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """`next_in_line`: whoever stands in the queue, in any order."""
        found = [
            (number, of.adm)
            for number, of in enumerate(state.calls)
            if of.tickets and of.adm is not None and of.adm.wait == "full"
        ]
        if not found:
            yield self._back(state, call, w, "serve: nobody waits")
        for number, adm in found:
            yield (
                f"serve: next is {number}",
                state,
                w._replace(pc="let_in", target=number, there=adm),
            )

    def let_in(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """`Gate.let_in`: try once more."""
        assert w.there is not None
        after, refused = self.on.grant(state, w.target, w.there)
        label = f"let in {w.target}: {refused or 'granted'}"
        if not refused:
            label = self.wrong(state, w.target) + label
            yield label, after, w._replace(pc="told", there=after.calls[w.target].adm)
        elif refused in ("stopped", "closed") or (refused == "money" and not self.asks):
            yield label, state, w._replace(pc="fail")
        elif refused in ("full", "paused", "money") and refused != w.there.wait:
            there = w.there._replace(lease=("full", "paused", "money").index(refused))
            yield label, state, w._replace(pc="repark", there=there)
        else:
            yield self._on(state, call, w, label, refused)

    def tell_it(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """Tell who waits; a token that is gone releases."""
        assert w.there is not None
        after = self.told(state, w.target, w.there.token)
        if after is None:
            yield "token gone", state, w._replace(pc="undo")
        else:
            yield self._on(after, call, w, f"told {w.target}", "in")

    def undo(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """Nobody waits for what was granted."""
        assert w.there is not None
        after, _ = self.on.release(state, w.target, w.there)
        yield self._on(after, call, w, f"release {w.target}", "standing")

    def fail(self, state: State, _call: int, w: Worker) -> Iterator[Way]:
        """`turn_away`, first half: its machine fails."""
        assert w.there is not None
        of, at = state.calls[w.target], state.run_of(w.target)
        waits = of.phase == "admit" and of.inv == w.there.token and state.runs[at].running
        after = self.end(state, at) if waits else state
        yield f"fail {w.target}", after, w._replace(pc="unpark")

    def unpark(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """`turn_away`, second half."""
        assert w.there is not None
        after, _ = self.on.unpark(state, w.target, w.there)
        yield self._on(after, call, w, f"unpark {w.target}", "turned away")

    def repark(self, state: State, call: int, w: Worker) -> Iterator[Way]:
        """It waits for another reason now, which a lease that waits has no use for tells."""
        assert w.there is not None
        wait = ("full", "paused", "money")[w.there.lease]
        after, _ = self.on.park(state, w.target, w.there._replace(lease=0), wait)
        yield self._on(after, call, w, f"park {w.target}: {wait}", wait)


def with_worker(state: State, call: int, worker: Worker | None) -> State:
    """The worker goes on."""
    if worker is None:
        return state
    if call < 0:
        return state._replace(others=(*state.others, worker))
    return state.call_set(call, workers=(*state.calls[call].workers, worker))


def wanted_by(w: Worker) -> Adm:
    """The admission that an asker wants."""
    return Adm("waiting", token=w.inv, asked=w.inv, redrive=w.redrive)


Step = Callable[[Programs, State, int, Worker], Iterator[Way]]
STEPS: Final[dict[str, Step]] = {
    "grant": Programs.grant,
    "again": Programs.again,
    "reopen": Programs.reopen,
    "park": Programs.park,
    "tell": Programs.tell,
    "serve": Programs.serve,
    "let_in": Programs.let_in,
    "told": Programs.tell_it,
    "undo": Programs.undo,
    "fail": Programs.fail,
    "unpark": Programs.unpark,
    "repark": Programs.repark,
}
