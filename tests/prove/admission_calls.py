"""The programs of who calls the model, who operates on a run, and who ends what was left behind."""

from collections.abc import Iterator
from typing import Final

from prove.admission_model import Adm, State, Worker
from prove.admission_programs import REPEATS, STEPS, WRONG, Programs, Step, Way

# --- PaidCalls.make -------------------------------------------------------------------------------


def begin(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """From granted to calling; what stands otherwise."""
    after, refused = of.on.begin(state, call)
    adm = after.calls[call].adm
    if not refused:
        yield "begin", after, w._replace(pc="kept", seen=adm)
    elif adm is not None and adm.state == "settled":
        yield "begin: settled before", of.said(state, call, w, "done"), None
    elif adm is not None and adm.state == "calling":
        yield "begin: under way", state, w._replace(pc="kept", seen=adm, made=True)
    else:
        yield "begin: not admitted", of.said(state, call, w, "admit"), None


def kept_attempt(of: Programs, state: State, call: int, seen: Adm, *, made: bool) -> int:
    """`kept_reply`: the attempt whose reply is kept, 0 for none."""
    alive = seen.state == "calling" and state.now < seen.lease
    attempts = [seen.attempt] if made else []
    if not (made and alive):
        earlier = seen.lost if "lost alone" in of.defects else range(1, seen.attempt)
        attempts += reversed(earlier)
    return next((one for one in attempts if one in state.calls[call].kept), 0)


def kept(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """Settle by a kept reply, or call, or leave it to who is calling."""
    assert w.seen is not None
    reply = kept_attempt(of, state, call, w.seen, made=w.made)
    alive = w.made and state.now < w.seen.lease
    if reply:
        yield f"kept reply {reply}", state, w._replace(pc="settle", reply=reply)
        return
    # A worker that stood still past its lease may yet begin an attempt that is lost already: only
    # one that comes after a kept reply is wrong.
    earlier = any(one < w.seen.attempt + w.made for one in state.calls[call].kept)
    wrong = WRONG if earlier and not alive else ""
    if not w.made:
        yield f"{wrong}no kept reply", state, w._replace(pc="provider")
    elif alive:
        yield "call in progress", of.said(state, call, w, "again"), None
    elif len(w.seen.lost) < REPEATS:
        yield f"{wrong}lease is over", state, w._replace(pc="repeat")
    else:
        yield "lease is over, no repeats left", state, w._replace(pc="lose", back="failed")


def repeat(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """The attempt is lost, the next one begins."""
    assert w.seen is not None
    after, refused = of.on.repeat(state, call, w.seen)
    if not refused:
        new = w._replace(pc="provider", seen=after.calls[call].adm, made=False)
        wrong = of.wrong(state, call) or _alive(state, call)
        yield f"{wrong}repeat", after, new
    elif refused == "standing":
        yield "repeat: taken over", of.said(state, call, w, "again"), None
    else:
        yield f"repeat: {refused}", state, w._replace(pc="lose", back="admit")


def _alive(state: State, call: int) -> str:
    """What begins the label of an attempt that is lost while its worker is believed alive."""
    adm = state.calls[call].adm
    return WRONG if adm and adm.state == "calling" and state.now < adm.lease else ""


def lose(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """No more attempts."""
    assert w.seen is not None
    after, refused = of.on.lose(state, call, w.seen)
    if not refused:
        yield f"{_alive(state, call)}lose", after, of.serving(w, w.back)
    elif w.back == "next":
        yield "lose: moved", state, w._replace(pc="next", seen=None, back="")
    else:
        yield "lose: taken over", of.said(state, call, w, "again"), None


def provider(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """The provider answers, and is to be paid."""
    assert w.seen is not None
    del of
    mine = frozenset((w.seen.attempt,))
    after = state.call_set(call, returned=state.calls[call].returned | mine)
    yield "the provider answers", after, w._replace(pc="keep", reply=w.seen.attempt)


def renew(of: Programs, state: State, call: int, w: Worker) -> State | None:
    """What the lease's thread does beside it; None where it has nothing to do."""
    assert w.seen is not None
    adm = state.calls[call].adm
    if w.pc != "provider" or adm is None or adm.lease == state.now + 1:
        return None
    after, refused = of.on.renew(state, call, w.seen, state.now + 1)
    return None if refused else after


def keep(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """The reply becomes an artifact."""
    del of
    mine = frozenset((w.reply,))
    after = state.call_set(call, kept=state.calls[call].kept | mine)
    yield "keep the reply", after, w._replace(pc="settle", made=True)


def settle(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """Of the present attempt, or of one that was given up."""
    assert w.seen is not None
    label = "settle" if w.reply == w.seen.attempt else f"recover {w.reply}"
    if label == "settle":
        after, refused = of.on.settle(state, call, w.seen)
    else:
        after, refused = of.on.recover(state, call, w.seen, w.reply, w.made)
    if not refused:
        yield label, after, of.serving(w, w.back or "done")
    elif w.back == "next":
        yield f"{label}: moved", state, w._replace(pc="next", seen=None, back="", reply=0)
    else:
        yield f"{label}: taken over", state, w._replace(pc="late")


def late(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """Read what stands instead."""
    standing = state.calls[call].adm
    assert standing is not None
    if w.reply in standing.lost:
        yield "its attempt is lost", state, w._replace(pc="settle_late", seen=standing)
    elif standing.state == "settled":
        result = "done" if state.calls[call].record == w.reply else "again"
        yield "settled meanwhile", of.said(state, call, w, result), None
    else:
        yield "no longer admitted", of.said(state, call, w, "admit"), None


def settle_late(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """Its cost in place of the worst case."""
    assert w.seen is not None
    after, refused = of.on.settle_late(state, call, w.seen, w.reply)
    same = w.seen.state == "settled" and after.calls[call].record == w.reply
    label = "settle late: moved" if refused else "settle late"
    yield label, of.said(after, call, w, "done" if same else "again"), None


def release(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """The model refused it, or nobody is there for it."""
    assert w.seen is not None
    at = w.target if w.program != "call" else call
    after, refused = of.on.release(state, at, w.seen)
    if not refused:
        yield "release", after, of.serving(w, w.back)
    elif w.back == "next":
        yield "release: moved", state, w._replace(pc="next", seen=None, back="", target=-1)
    else:
        yield "release: moved", of.said(state, call, w, w.back), None


def uncharge(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """The model was not reached."""
    assert w.seen is not None
    after, refused = of.on.uncharge(state, call, w.seen)
    if refused:
        yield "uncharge: moved", state, w._replace(pc="release", back="again")
    else:
        yield "uncharge", of.said(after, call, w, "again"), None


def give_up(of: Programs, state: State, call: int, w: Worker) -> Iterator[Way]:
    """Its outcome is unknown: the lease ends now."""
    assert w.seen is not None
    after, _ = of.on.renew(state, call, w.seen, state.now)
    yield "end the lease", of.said(after, call, w, "again"), None


# --- Closing and operations -----------------------------------------------------------------------


def operate(of: Programs, state: State, _call: int, w: Worker) -> Iterator[Way]:
    """The change of META or BUDGET that comes first."""
    if w.program == "close":
        state, _ = of.on.close_run(state, w.run, w.redrive)
    elif w.program == "resume":
        state, refused = of.on.pause(state, w.run, False)
        if refused:
            yield "resume: has ended", state, None
            return
    elif w.program == "stop":
        state, _ = of.on.stop(state, w.run)
    yield f"{w.program} run {w.run}", state, w._replace(pc="list")


def listed(_of: Programs, state: State, _call: int, w: Worker) -> Iterator[Way]:
    """The run's admissions, as they are now; of all runs by their names alone."""
    numbers = [n for n in range(len(state.calls)) if w.run in (-1, state.run_of(n))]
    todo = tuple((n, state.calls[n].adm if w.run >= 0 else None) for n in numbers)
    yield f"{w.program}: list", state, w._replace(pc="next", todo=todo)


def following(of: Programs, state: State, _call: int, w: Worker) -> Iterator[Way]:
    """The next one that is still to be looked at."""
    w = w._replace(seen=None, target=-1, there=None, tries=0, back="", reply=0, made=False)
    if not w.todo:
        yield from _last(of, state, w)
        return
    (number, seen), *rest = w.todo
    w = w._replace(todo=tuple(rest), target=number)
    seen = state.calls[number].adm if w.program == "sweep" else seen
    if seen is None or seen.state not in ("waiting", "granted", "calling"):
        yield f"{w.program}: {number} has ended", state, w._replace(target=-1)
    elif w.program == "resume":
        pc = "let_in" if seen.wait == "paused" else "next"
        yield f"resume: {number}", state, w._replace(pc=pc, there=seen, tries=-1, back="next")
    elif w.program == "stop":
        pc = {"waiting": "fail", "granted": "release"}.get(seen.state, "next")
        new = w._replace(pc=pc, there=seen, seen=seen, tries=-1, back="next")
        yield f"stop: {number}", state, new
    else:
        yield f"{w.program}: look at {number}", state, w._replace(pc="gone", seen=seen)


def _last(of: Programs, state: State, w: Worker) -> Iterator[Way]:
    if w.program == "sweep":
        yield "sweep: serve", state, of.serving(w, "serve")
    elif w.program == "stop" and state.runs[w.run].running:
        yield "stop: the execution", of.end(state, w.run), None
    else:
        yield f"{w.program}: over", state, None


def gone(of: Programs, state: State, _call: int, w: Worker) -> Iterator[Way]:
    """`Closing.tidy` and `_woken`: ask Step Functions, and act."""
    seen, at = w.seen, state.run_of(w.target)
    assert seen is not None
    run = state.runs[at]
    said = dict(w.known).get(at, run.redrives if run.running else -1)
    known = (*dict(w.known).items(), (at, said)) if "one look" in of.defects else ()
    w = w._replace(known=tuple(sorted(set(known))), back="next")
    dead = said != seen.redrive
    if seen.state == "calling":
        pc = "end" if dead and state.now >= seen.lease else "next"
        yield "look", state, w._replace(pc=pc)
    elif dead:
        pc = "unpark" if seen.state == "waiting" else "release"
        yield "nobody is there", state, w._replace(pc=pc, there=seen, tries=-1)
    elif w.program == "sweep" and seen.state == "granted":
        after = of.told(state, w.target, seen.token)
        yield "tell again", after or state, w._replace(pc="next")
    elif w.program == "sweep" and seen.wait in ("paused", "money"):
        yield "try again", state, w._replace(pc="let_in", there=seen, tries=-1)
    else:
        yield "leave it", state, w._replace(pc="next")


def end(of: Programs, state: State, _call: int, w: Worker) -> Iterator[Way]:
    """`Closing._end`: by a kept reply, or lost."""
    assert w.seen is not None
    reply = kept_attempt(of, state, w.target, w.seen, made=True)
    if reply:
        w = w._replace(reply=reply, made=True)
        yield from settle(of, state, w.target, w)
    else:
        yield from lose(of, state, w.target, w)


def redrive(_of: Programs, state: State, _call: int, w: Worker) -> Iterator[Way]:
    """`Operations.redrive`: first the execution."""
    run = state.runs[w.run]
    if run.running or run.stopped:
        yield "redrive: cannot be", state, None
        return
    new = w._replace(pc="reopen_run", redrive=run.redrive + 1)
    state = state.run_set(w.run, running=True, redrives=run.redrives + 1)
    for number, each in enumerate(state.calls):
        if state.run_of(number) == w.run and each.phase != "done":
            phase = "admit" if each.phase == "admit" else "call"
            state = _of.invoke(state, number, phase)
    yield f"redrive {w.run}", state, new


def reopen_run(of: Programs, state: State, _call: int, w: Worker) -> Iterator[Way]:
    """Then its record."""
    after, _ = of.on.reopen(state, w.run, w.redrive)
    yield f"reopen {w.run}", after, None


ALL: Final[dict[str, Step]] = {
    **STEPS,
    "begin": begin,
    "kept": kept,
    "repeat": repeat,
    "lose": lose,
    "provider": provider,
    "keep": keep,
    "settle": settle,
    "late": late,
    "settle_late": settle_late,
    "release": release,
    "uncharge": uncharge,
    "give_up": give_up,
    "close": operate,
    "resume": operate,
    "stop": operate,
    "list": listed,
    "next": following,
    "gone": gone,
    "end": end,
    "redrive": redrive,
    "reopen_run": reopen_run,
}
