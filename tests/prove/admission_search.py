"""Every state that the protocol can reach with so many faults, breadth first, and what must hold."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from prove.admission_calls import ALL, renew
from prove.admission_model import COST, OPEN, WORST, Call, Run, State, Transactions, Worker
from prove.admission_programs import TRIES, WRONG, Programs, with_worker

FAULTS: Final = (
    "kill",
    "tick",
    "abandon",
    "double",
    "throttle",
    "unavailable",
    "unknown",
    "pause",
    "stop",
    "end",
    "redrive",
    "sweep",
)
"""What may go wrong or be done from outside: a worker dies; a lease ends under its worker; a machine
gives a caller up, or an asker, that lives on; what the model says; operations; a sweep."""

Next = tuple[str, State]


class Instance(NamedTuple):
    """One exploration.

    Attributes:
        calls: of each run.
        ceiling: of each run.
        faults: how often each may happen.
        reduced: a worker's step that nobody else can see or hinder is taken before all others.
    """

    programs: Programs
    faults: Mapping[str, int]
    runs: int = 2
    calls: int = 2
    ceiling: int = 3
    reduced: bool = False

    def first(self) -> State:
        """Every call asks."""
        asker = Worker("admit", "grant", inv=1, tries=TRIES)
        return State(
            runs=(Run(ceiling=self.ceiling, available=self.ceiling),) * self.runs,
            calls=(Call(workers=(asker,)),) * (self.runs * self.calls),
            faults=tuple(self.faults.get(kind, 0) for kind in FAULTS),
        )


# --- What may come next ---------------------------------------------------------------------------


def followers(programs: Programs, state: State, *, reduced: bool = False) -> Iterator[Next]:
    """Every state that comes next, and by what."""
    some = False
    alone = _alone(state) if reduced else None
    for step in _steps(programs, state) if alone is None else _step(programs, *alone):
        some = True
        yield step
    yield from _faults(programs, state)
    if not some:
        yield from _patience(programs, state)


def _alone(state: State) -> tuple[int, Worker, State] | None:
    """A worker whose next step nobody else can see or hinder."""
    if state.others:
        return None
    for call, worker, without in _workers(state):
        fresh = worker.pc == "kept" and not worker.made and worker.seen and worker.seen.attempt == 1
        sole = not without.calls[call].workers and worker.pc in ("tell", "keep")
        if fresh or sole or worker.pc == "provider":
            return call, worker, without
    return None


def _step(programs: Programs, call: int, worker: Worker, without: State) -> Iterator[Next]:
    for label, after, new in ALL[worker.pc](programs, without, call, worker):
        yield f"{_who(call, worker)} {label}", with_worker(after, call, new)


def _steps(programs: Programs, state: State) -> Iterator[Next]:
    for call, worker, without in _workers(state):
        yield from _step(programs, call, worker, without)
        if worker.pc == "provider":
            renewed = renew(programs, without, call, worker)
            if renewed is not None:
                yield f"{_who(call, worker)} renew", with_worker(renewed, call, worker)
    for call, of in enumerate(state.calls):
        alive = of.adm is not None and of.adm.state == "calling" and state.now < of.adm.lease
        if of.phase == "again" and state.runs[state.run_of(call)].running and not alive:
            yield f"machine {call} calls again", programs.invoke(state, call, "call")
    for at, run in enumerate(state.runs):
        resumed = any(one.program == "resume" and one.run == at for one in state.others)
        if run.paused and run.status == "running" and not resumed:
            yield f"resume {at}", with_worker(state, -1, Worker("resume", "resume", run=at))


def _workers(state: State) -> Iterator[tuple[int, Worker, State]]:
    for call, of in enumerate(state.calls):
        for at, worker in enumerate(of.workers):
            rest = of.workers[:at] + of.workers[at + 1 :]
            yield call, worker, state.call_set(call, workers=rest)
    for at, worker in enumerate(state.others):
        yield -1, worker, state._replace(others=state.others[:at] + state.others[at + 1 :])


def _who(call: int, worker: Worker) -> str:
    return worker.program if call < 0 else f"{worker.program}({call})#{worker.inv}"


def _patience(programs: Programs, state: State) -> Iterator[Next]:
    """Nothing moves: leases end, then sweeps come."""
    leases = [of.adm.lease for of in state.calls if of.adm and of.adm.state == "calling"]
    if max(leases, default=0) > state.now:
        yield "leases end", state._replace(now=max(leases))
        return
    after = swept(programs, state)
    if after != state:
        yield "a whole sweep", after


def swept(programs: Programs, state: State) -> State:
    """After a sweep with nobody beside it."""
    worker: Worker | None = Worker("sweep", "list")
    while worker is not None:
        _, state, worker = next(iter(ALL[worker.pc](programs, state, -1, worker)))
    return state


def _faults(programs: Programs, state: State) -> Iterator[Next]:
    for at, kind in enumerate(FAULTS):
        if state.faults[at]:
            left = (*state.faults[:at], state.faults[at] - 1, *state.faults[at + 1 :])
            for label, after in HAPPENS[kind](programs, state._replace(faults=left)):
                yield f"{kind}! {label}", after


def _kill(programs: Programs, state: State) -> Iterator[Next]:
    for call, worker, without in _workers(state):
        yield f"{_who(call, worker)} {worker.pc}", _heard(programs, without, call, worker)


def _heard(programs: Programs, state: State, call: int, worker: Worker) -> State:
    """The machine hears that its worker is gone, and invokes another."""
    return programs.said(state, call, worker, worker.program) if call >= 0 else state


def _given_up(program: str) -> Callable[[Programs, State], Iterator[Next]]:
    def happens(programs: Programs, state: State) -> Iterator[Next]:
        for call, worker, _ in _workers(state):
            after = _heard(programs, state, call, worker) if worker.program == program else state
            if after != state:
                yield f"{_who(call, worker)} {worker.pc}", after

    return happens


def _tick(_programs: Programs, state: State) -> Iterator[Next]:
    if any(of.adm and of.adm.state == "calling" for of in state.calls):
        yield "", state._replace(now=state.now + 1)


def _model_says(pc: str, back: str) -> Callable[[Programs, State], Iterator[Next]]:
    def happens(_programs: Programs, state: State) -> Iterator[Next]:
        for call, worker, without in _workers(state):
            if worker.pc == "provider":
                new = worker._replace(pc=pc, back=back)
                yield _who(call, worker), with_worker(without, call, new)

    return happens


def _operation(program: str) -> Callable[[Programs, State], Iterator[Next]]:
    def happens(_programs: Programs, state: State) -> Iterator[Next]:
        for at, run in enumerate(state.runs):
            ended = not run.running and not run.stopped
            if run.running if program != "redrive" else ended and _unfinished(state, at):
                yield f"{at}", with_worker(state, -1, Worker(program, program, run=at))

    return happens


def _unfinished(state: State, at: int) -> bool:
    return any(
        of.phase != "done" for call, of in enumerate(state.calls) if state.run_of(call) == at
    )


def _pause(programs: Programs, state: State) -> Iterator[Next]:
    for at in range(len(state.runs)):
        after, refused = programs.on.pause(state, at, True)  # the port's
        if not refused:
            yield f"{at}", after


def _end(programs: Programs, state: State) -> Iterator[Next]:
    for at, run in enumerate(state.runs):
        if run.running:
            yield f"{at}", programs.end(state, at)


def _sweep(_programs: Programs, state: State) -> Iterator[Next]:
    yield "", with_worker(state, -1, Worker("sweep", "list"))


HAPPENS: Final[dict[str, Callable[[Programs, State], Iterator[Next]]]] = {
    "kill": _kill,
    "tick": _tick,
    "abandon": _given_up("call"),
    "double": _given_up("admit"),
    "throttle": _model_says("release", "admit"),
    "unavailable": _model_says("uncharge", "again"),
    "unknown": _model_says("give_up", "again"),
    "pause": _pause,
    "stop": _operation("stop"),
    "end": _end,
    "redrive": _operation("redrive"),
    "sweep": _sweep,
}


# --- What must hold -------------------------------------------------------------------------------


def broken(state: State, limit: int) -> str:
    """The invariant that does not hold, empty when all do."""
    holding = 0
    for at, run in enumerate(state.runs):
        calls = [of for call, of in enumerate(state.calls) if state.run_of(call) == at]
        if run.available + run.reserved + run.spent != run.ceiling:
            return "available + reserved + spent is not the ceiling"
        if min(run.available, run.reserved, run.spent) < 0:
            return "money below 0"
        held = sum(1 for of in calls if of.adm and of.adm.state in ("granted", "calling"))
        holding += held
        if run.reserved != held * WORST:
            return "reserved is not the worst cases of what is let in"
        if run.spent != sum(map(_paid, calls)):
            return "spent is not what calls cost and lost"
    if state.held != holding or state.held > limit:
        return "slots held are not those let in, or above the limit"
    return next(filter(None, map(_broken_call, state.calls)), "")


def _paid(of: Call) -> int:
    lost = len(of.adm.lost) if of.adm else 0
    return lost * WORST + (len(of.late) + bool(of.record)) * COST


def _broken_call(of: Call) -> str:
    adm = of.adm
    waits = frozenset({adm.asked}) if adm and adm.wait == "full" else frozenset()
    if of.tickets != waits:
        return "tickets are not those of the calls that wait for a slot"
    if adm is None:
        return ""
    if bool(adm.wait) != (adm.state == "waiting"):
        return "a reason to wait without waiting"
    now = (adm.attempt,) if adm.state == "calling" else ()
    counted = {*adm.lost, *of.late, of.record, *now}
    return "" if of.returned <= counted else "an answer is not paid"


def unquiet(state: State, *, asks: bool) -> str:
    """What is left open where nothing moves any more, empty where that is as it should be."""
    for call, of in enumerate(state.calls):
        run = state.runs[state.run_of(call)]
        is_open = of.adm is not None and of.adm.state in OPEN
        if is_open and asks and of.adm and of.adm.wait == "money" and run.running:
            continue  # somebody has to raise the ceiling, or stop the run
        if is_open:
            return f"call {call} is open for ever"
        if run.running and of.phase != "done":
            return f"machine {call} waits for ever"
    return "a slot is held for ever" if state.held else ""


def forgotten(state: State) -> str:
    """Who waits for a run to be resumed that goes on; with nobody killed, none is left to sweep."""
    for call, of in enumerate(state.calls):
        if of.adm and of.adm.wait == "paused" and state.runs[state.run_of(call)].going:
            return f"call {call} waits for no reason"
    return ""


# --- The search -----------------------------------------------------------------------------------


@dataclass
class Explored:
    """What was seen; `wrong` says what was found, and `path` how to come there."""

    states: int = 0
    transitions: int = 0
    depth: int = 0
    terminal: int = 0
    wrong: str = ""
    path: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = (
            f"{self.states:,} states, {self.transitions:,} transitions, depth {self.depth},"
            f" {self.terminal:,} quiet"
        )
        return "\n  ".join([told, *([f"WRONG: {self.wrong}", *self.path] if self.wrong else [])])


def explore(
    instance: Instance, seen_states: Callable[[State], None] | None = None, most: int = 10**7
) -> Explored:
    """All that the instance reaches, or the shortest path to what is wrong."""
    first = canonical(instance.first())
    came: dict[State, tuple[State | None, str]] = {first: (None, "")}
    found, level = Explored(), [first]
    limit, asks = instance.programs.on.limit, instance.programs.asks
    while level and len(came) < most:
        following: list[State] = []
        for state in level:
            if seen_states is not None:
                seen_states(state)
            moves = list(followers(instance.programs, state, reduced=instance.reduced))
            found.transitions += len(moves)
            wrong = unquiet(state, asks=asks) if not _moving(moves) else ""
            if set(instance.faults) == {"pause"} and "sweep" in _single(moves):
                wrong = wrong or forgotten(state)
            found.terminal += not _moving(moves)
            if wrong:
                return _told(found, came, state, wrong)
            for label, after in moves:
                after = canonical(after)
                if after in came and WRONG not in label:
                    continue
                came[after] = (state, label)
                wrong = label if WRONG in label else broken(after, limit)
                if wrong:
                    return _told(found, came, after, wrong)
                following.append(after)
        level = following
        found.depth += bool(level)
    found.states = len(came)
    return found


def _single(moves: list[Next]) -> str:
    """What moves by itself, where that is one thing."""
    labels = [label for label, _ in moves if "! " not in label]
    return labels[0] if len(labels) == 1 else ""


def _moving(moves: list[Next]) -> bool:
    """Whether anything moves by itself."""
    return any("! " not in label for label, _ in moves)


def _told(
    found: Explored, came: Mapping[State, tuple[State | None, str]], last: State, wrong: str
) -> Explored:
    found.states, found.wrong = len(came), wrong
    state: State | None = last
    while state is not None:
        before, label = came[state]
        found.path.append(label or "start")
        state = before
    found.path.reverse()
    return found


def canonical(state: State) -> State:
    """The same state with workers, calls and runs in one order: their names mean nothing."""
    calls = tuple(
        of if len(of.workers) < 2 else of._replace(workers=tuple(sorted(of.workers, key=hash)))
        for of in state.calls
    )
    each = len(calls) // len(state.runs)
    marks = [hash(of) for of in calls]
    own = [
        sorted(range(at * each, at * each + each), key=marks.__getitem__)
        for at in range(len(state.runs))
    ]
    runs = sorted(
        range(len(state.runs)),
        key=lambda at: hash((state.runs[at], *(marks[call] for call in own[at]))),
    )
    order = [call for at in runs for call in own[at]]
    others = tuple(sorted(state.others, key=hash)) if len(state.others) > 1 else state.others
    state = state._replace(calls=calls, others=others)
    return state if order == sorted(order) else _renamed(state, runs, order)


def _renamed(state: State, runs: list[int], order: list[int]) -> State:
    name = {old: new for new, old in enumerate(order)} | {-1: -1}
    run_name = {old: new for new, old in enumerate(runs)} | {-1: -1}

    def worker(w: Worker) -> Worker:
        if w.target < 0 and w.run < 0 and not w.todo and not w.known:
            return w
        return w._replace(
            run=run_name[w.run],
            target=name[w.target],
            todo=tuple((name[call], seen) for call, seen in w.todo),
            known=tuple(sorted((run_name[run], said) for run, said in w.known)),
        )

    return state._replace(
        runs=tuple(state.runs[at] for at in runs),
        calls=tuple(
            state.calls[call]._replace(workers=tuple(map(worker, state.calls[call].workers)))
            for call in order
        ),
        others=tuple(map(worker, state.others)),
    )


def programs(
    dropped: str = "", *mistakes: str, limit: int = 1, asks: bool = False, most: int = 4
) -> Programs:
    """The protocol as it is, or without one condition, or with mistakes."""
    return Programs(Transactions(limit, dropped), asks, most, frozenset(mistakes))
