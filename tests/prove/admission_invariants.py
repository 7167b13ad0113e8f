"""What must hold in every state of the protocol, and where nothing moves any more."""

from prove.admission_model import COST, OPEN, WORST, Call, State


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
