"""What may come next in a state of the protocol: a step of a worker, or something from outside."""

from collections.abc import Callable, Iterator
from typing import Final

from prove.admission_calls import ALL, renew
from prove.admission_model import State, Worker
from prove.admission_programs import Programs, with_worker

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
"""What may go wrong or be done from outside: a worker dies; a lease ends under its worker; a
machine gives a caller up, or an asker, that lives on; what the model says; operations; a sweep."""

Next = tuple[str, State]


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
        after, refused = programs.on.pause(state, at, True)
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
