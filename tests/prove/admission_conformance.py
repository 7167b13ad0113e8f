"""The model's transactions held against the real ones, each from the same state, in memory."""

import zlib
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final, cast

from autoops.adapters.expressions import typed, value_of
from autoops.adapters.keys import call_key, run_key, slot_key, ticket_key
from autoops.domain.admissions import Admission, AdmissionState, Asker, CallClaim, Limit, Wait
from autoops.domain.contracts import Run, to_json
from autoops.domain.ledger import CallRecord, OpenedRun
from autoops.domain.pricing import Usage
from fake_dynamodb import Item
from fakes import NOON
from gate_bench import LEASE, GateBench
from prove.admission_model import COST, OPEN, WORST, Adm, Moved, State, Transactions
from prove.admission_programs import Programs

MODEL: Final = "us.amazon.nova-lite-v1:0"
FINGERPRINT: Final = "f" * 64
NAMES: Final = {"running": "RUNNING", "ended": "FAILED"}


class Checked:
    """`Transactions` that does each one, of a sample, on the table too, and compares.

    Attributes:
        every: one of so many is compared.
        compared: how many were, by transaction and what came of it.
    """

    def __init__(self, on: Transactions, every: int = 1) -> None:
        self.limit, self._on, self._every = on.limit, on, every
        self.compared: Counter[str] = Counter()
        self.bench = GateBench(limits={MODEL: Limit(concurrency=on.limit)})

    def programs(self) -> Programs:
        """The programs over these."""
        return Programs(cast("Transactions", self))

    def __getattr__(self, name: str) -> Callable[..., Moved]:
        transaction = getattr(self._on, name)

        def both(state: State, *given: Any) -> Moved:
            moved: Moved = transaction(state, *given)
            # By what it is told: the same ones in any process.
            if zlib.crc32(repr((name, state.calls, given)).encode()) % self._every == 0:
                self._compare(name, state, given, moved)
            return moved

        return both

    def _compare(self, name: str, state: State, given: tuple[Any, ...], moved: Moved) -> None:
        self.bench.dynamodb.items = encoded(state)
        self.bench.clock.time = moment(state.now)
        said = REAL[name](self.bench, state, *given)
        told = f"{name}{given} from {state}"
        want = moved[1] if name in ("grant", "repeat") else _moved(not moved[1])
        assert said == want, f"the table says {said!r}, the model {moved[1]!r}: {told}"
        assert decoded(self.bench.dynamodb.items, state) == told_of(moved[0]), told
        self.compared[f"{name}: {said or 'done'}"] += 1


# --- From the model to the table ------------------------------------------------------------------


def moment(tick: int) -> datetime:
    """A tick of the model's clock."""
    return NOON + LEASE * tick


def run_of(state: State, call: int) -> Run:
    """Whose call it is; each run is of a tenant of its own."""
    at = state.run_of(call)
    return _run(at)


def _run(at: int) -> Run:
    return Run(id=f"r{at}", root=f"ask-model:r{at}", workflow="ask-model", tenant=f"tenant-{at}")


def admission(state: State, call: int, adm: Adm) -> Admission:
    """An admission as the library tells it."""
    run, over = run_of(state, call), adm.state not in OPEN
    return Admission(
        run=run,
        claim=CallClaim(
            call=f"{run.root}/AskModel/{call}/0",
            fingerprint=FINGERPRINT,
            model=MODEL,
            worst=WORST,
            prompt="answer@1",
        ),
        asker=asker(run, adm.token, adm.redrive),
        state=AdmissionState(adm.state),
        asked_at=NOON + timedelta(seconds=adm.asked),
        attempt=adm.attempt,
        lost=adm.lost,
        lease_until=moment(adm.lease) if adm.state == "calling" else None,
        slot=0 if adm.slot and not over else None,
        wait=Wait(adm.wait) if adm.wait else None,
    )


def asker(run: Run, token: int, redrive: int) -> Asker:
    """Who asks with a token."""
    name = f"token-{token}" if token else None
    return Asker(execution=run.root, redrive=redrive, since=f"{token:04}", token=name)


def record(state: State, call: int, attempt: int) -> CallRecord:
    """The record of an attempt."""
    claim = admission(state, call, Adm("waiting")).claim
    return CallRecord(
        call=claim.call,
        fingerprint=claim.fingerprint,
        model=claim.model,
        prompt=claim.prompt,
        attempt=attempt,
        reply=f"answers/{claim.call}/{attempt}",
        usage=Usage(input=1),
        cost=COST,
        estimated=False,
    )


def encoded(state: State) -> dict[tuple[str, str], Item]:
    """The state as items of the table."""
    items: dict[tuple[str, str], Item] = {}

    def put(key: Any, **fields: object) -> None:
        item = {**key, **{name: typed(value) for name, value in fields.items()}}
        items[key["PK"]["S"], key["SK"]["S"]] = item

    for at, of in enumerate(state.runs):
        run = _run(at)
        opened = OpenedRun(run=run, execution=run.root, ceiling=of.ceiling, opened_at=NOON)
        put(
            run_key(run.root, "META"),
            execution=run.root,
            status=NAMES[of.status],
            paused=of.paused,
            stopped=of.stopped,
            redrive=of.redrive,
            data=to_json(opened),
        )
        money = {name: getattr(of, name) for name in ("ceiling", "available", "reserved", "spent")}
        put(run_key(run.root, "BUDGET"), **money, over=0, soft_left=of.ceiling, warned=True)
    put(slot_key(MODEL, 0), held=state.held)
    for call, each in enumerate(state.calls):
        run, name = run_of(state, call), f"{run_of(state, call).root}/AskModel/{call}/0"
        if each.adm is not None:
            put(call_key(run.root, "ADMISSION", name), **_fields(state, call, each.adm))
        if each.record:
            put(call_key(run.root, "CALL", name), data=to_json(record(state, call, each.record)))
        for asked in each.tickets:
            place = admission(state, call, Adm("waiting", asked=asked)).place
            put(ticket_key(MODEL, place), root=run.root, call=name)
    return items


def _fields(state: State, call: int, adm: Adm) -> dict[str, object]:
    whole = admission(state, call, adm)
    asked = whole.asked_at.isoformat(timespec="microseconds")
    fields: dict[str, object] = {
        "state": adm.state,
        "fingerprint": FINGERPRINT,
        "data": to_json({"run": whole.run, "claim": whole.claim}),
        "asked_at": asked,
        "execution": whole.asker.execution,
        "redrive": adm.redrive,
        "since": whole.asker.since,
        "slot": whole.slot,
        "wait": whole.wait,
        "attempt": adm.attempt,
        "lost": list(adm.lost),
    }
    if adm.state in OPEN:
        fields |= {"token": whole.asker.token or "", "open_in": "OPEN#0", "open_since": asked}
    if adm.state == "calling":
        fields["lease"] = moment(adm.lease).isoformat(timespec="microseconds")
    return fields


# --- And back -------------------------------------------------------------------------------------


def told_of(state: State) -> tuple[Any, ...]:
    """What the table knows of a state."""
    runs = tuple(run[: run._fields.index("running")] for run in state.runs)
    calls = tuple((of.adm, of.tickets, of.record) for of in state.calls)
    return runs, calls, state.held


def decoded(items: dict[tuple[str, str], Item], like: State) -> tuple[Any, ...]:
    """What the table knows."""
    status = {there: here for here, there in NAMES.items()}
    runs, calls = [], []
    for at in range(len(like.runs)):
        partition = f"RUN#{_run(at).root}"
        meta, money = items[partition, "META"], items[partition, "BUDGET"]
        plain = [value_of(meta, name) for name in ("status", "paused", "stopped", "redrive")]
        sums = [value_of(money, name) for name in ("ceiling", "available", "reserved", "spent")]
        runs.append((status[plain[0]], *plain[1:], *sums))
    for call in range(len(like.calls)):
        root = run_of(like, call).root
        name = f"{root}/AskModel/{call}/0"
        item = items.get((f"RUN#{root}", f"ADMISSION#{name}"))
        kept = items.get((f"RUN#{root}", f"CALL#{name}"))
        tickets = frozenset(
            _asked(key[1].split("#")[1])
            for key, ticket in items.items()
            if key[0] == f"QUEUE#{MODEL}" and value_of(ticket, "call") == name
        )
        settled = 0
        if kept is not None:
            settled = CallRecord.model_validate_json(value_of(kept, "data")).attempt
        calls.append((None if item is None else _adm(item), tickets, settled))
    return tuple(runs), tuple(calls), value_of(items[f"LIMIT#{MODEL}", "SLOT#0"], "held")


def _adm(item: Item) -> Adm:
    state, attempt = value_of(item, "state"), value_of(item, "attempt")
    lost, over = tuple(value_of(item, "lost")), state not in OPEN
    assert over != ("open_in" in item), "open exactly while it has not ended"
    if over:
        assert not {"token", "lease"} & set(item), item
        return Adm(state, attempt=attempt, lost=lost)
    token = value_of(item, "token")
    lease = 0
    if "lease" in item and state == "calling":
        lease = (datetime.fromisoformat(value_of(item, "lease")) - NOON) // LEASE
    return Adm(
        state,
        token=int(token.removeprefix("token-")) if token else 0,
        wait=value_of(item, "wait") or "",
        asked=_asked(value_of(item, "asked_at")),
        redrive=value_of(item, "redrive"),
        attempt=attempt,
        lost=lost,
        lease=lease,
        slot=value_of(item, "slot") is not None,
    )


def _asked(at: str) -> int:
    return int((datetime.fromisoformat(at) - NOON).total_seconds())


# --- The real transactions ------------------------------------------------------------------------


def _moved(moved: bool) -> str:  # what the port says
    return "" if moved else "standing"


def _repeat(b: GateBench, s: State, call: int, seen: Adm) -> str:
    said = b.admissions.repeat(admission(s, call, seen), moment(s.now + 1))
    return "" if isinstance(said, Admission) else said


def _begin(b: GateBench, s: State, call: int) -> str:
    wanted = admission(s, call, Adm("waiting"))
    begun = b.admissions.begin(wanted.run, wanted.claim, moment(s.now + 1))
    return _moved(begun is not None and begun.now)


def _root(at: int) -> str:
    return _run(at).root


REAL: Final[dict[str, Callable[..., str]]] = {
    "grant": lambda b, s, call, wanted: (
        b.admissions.grant(admission(s, call, wanted), b.clock.now()).refused or ""
    ),
    "park": lambda b, s, call, wanted, wait: _moved(
        b.admissions.park(admission(s, call, wanted), Wait(wait))
    ),
    "unpark": lambda b, s, call, seen: _moved(b.admissions.unpark(admission(s, call, seen))),
    "ask_again": lambda b, s, call, seen, token, redrive: _moved(
        b.admissions.ask_again(admission(s, call, seen), asker(run_of(s, call), token, redrive))
    ),
    "begin": _begin,
    "renew": lambda b, s, call, seen, until: _moved(
        b.admissions.renew(admission(s, call, seen), moment(until))
    ),
    "repeat": _repeat,
    "uncharge": lambda b, s, call, seen: _moved(b.admissions.uncharge(admission(s, call, seen))),
    "settle": lambda b, s, call, seen: _moved(
        b.admissions.settle(admission(s, call, seen), record(s, call, seen.attempt)) != "taken over"
    ),
    "settle_late": lambda b, s, call, seen, attempt: _moved(
        b.admissions.settle_late(
            admission(s, call, seen), admission(s, call, seen), record(s, call, attempt)
        )
    ),
    "recover": lambda b, s, call, seen, attempt, made: _moved(
        b.admissions.recover(admission(s, call, seen), record(s, call, attempt), made=made)
    ),
    "lose": lambda b, s, call, seen: _moved(b.admissions.lose(admission(s, call, seen))),
    "release": lambda b, s, call, seen: _moved(b.admissions.release(admission(s, call, seen))),
    "close_run": lambda b, _s, at, redrive: _moved(
        b.ledger.close_run(_root(at), "FAILED", None, b.clock.now(), redrive)
    ),
    "reopen": lambda b, _s, at, redrive: _moved(b.ledger.reopen(_root(at), redrive)),
    "pause": lambda b, _s, at, paused: _moved(b.ledger.pause(_root(at), paused=paused)),
    "stop": lambda b, _s, at: _moved(b.ledger.stop(_root(at))),
}
