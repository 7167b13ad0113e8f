"""Real worker processes share limits and money through the gate, and are killed, frozen, refused.

The table is held against what must be true after every write, and at the end against what the
provider counted. Each seeded bug is a condition that the workers leave out, and has to be found.
"""

import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from autoops.adapters import admission_items
from autoops.adapters.expressions import value_of
from autoops.calls import UNKNOWN_REPEATS, reply_key
from autoops.domain.admissions import Admission
from autoops.domain.ledger import CallRecord
from autoops.domain.model import ModelReply
from autoops.domain.pricing import price_of
from prove.gate_machines import Machine
from prove.gate_outside import Outside
from prove.gate_pool import Failed, Pool
from prove.gate_stores import Stores
from prove.gate_worker import BUGS, MODEL

LEASE: Final = 1.2
LIMIT: Final = 3
CALLS: Final = 4
"""Of each of a run's two branches."""
PRICE: Final = price_of(MODEL)
WORST: Final = PRICE.worst_case(1_000, 100)


@dataclass
class Proof:
    """One round: its parts, and what was found wrong."""

    stores: Stores
    outside: Outside
    pool: Pool
    machines: list[Machine]
    problems: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """All that was found wrong so far, by whoever saw it."""
        seen = [one for machine in self.machines for one in machine.wrong]
        return [*self.stores.wrong, *self.pool.crashed, *seen, *self.problems]


@contextmanager
def proof(seed: int, *, runs: int, calls: int, workers: int, bug: str = "") -> Iterator[Proof]:
    """Stores, provider and workers, not yet at work."""
    dice = random.Random(seed)  # noqa: S311  # seeded
    with ExitStack() as stack:
        stores = Stores(seed=seed, concurrency=LIMIT, worst=WORST)
        endpoint = stack.enter_context(stores.serving())
        outside = Outside(random.Random(seed), slow=LEASE * 1.5)  # noqa: S311  # seeded
        url = stack.enter_context(outside.serving())
        settings = {"outside": url, "lease": LEASE, "concurrency": LIMIT, "bug": bug}
        pool = Pool(workers, endpoint, settings)
        stack.callback(pool.close)
        machines = [
            Machine(
                name=f"r{number}",
                tenant=f"t{number % 3}",
                ceiling=WORST * dice.randrange(2, 2 * calls + 2),
                on_budget="ask" if number % 2 else "stop",
                worst=WORST,
                branches=2,
                calls=calls,
                lease=LEASE,
                pool=pool,
                outside=outside,
            )
            for number in range(runs)
        ]
        yield Proof(stores, outside, pool, machines)


def work(proof: Proof, dice: random.Random, *, kill_every: float) -> None:
    """Run every machine to its end while workers die, sweeps pass and operators meddle."""
    threads = [threading.Thread(target=machine.run) for machine in proof.machines]
    with proof.pool.disturbed(dice, kill_every, LEASE * 1.7):
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(LEASE / 3)
            _swept(proof)
            _meddled(proof, dice)
    for thread in threads:
        thread.join()


def settle_down(proof: Proof) -> None:
    """No more faults: every lease ends, and sweeps end what nobody works on."""
    proof.stores.front.one_in = 0
    for _ in range(40):
        time.sleep(LEASE / 2)
        _swept(proof)
        if not any(one.state not in ("settled", "lost", "released") for one in _all(proof)):
            return
    proof.problems.append("sweeps leave something behind")


def look_back(proof: Proof) -> None:
    """What must be true when all is over."""
    held, queued = proof.stores.held(), proof.stores.queued()
    _hold(proof, held == 0, f"{held} slots are still held")
    _hold(proof, queued == 0, f"{queued} tickets are left")
    for machine in proof.machines:
        _look_back_at(proof, machine)


def _look_back_at(proof: Proof, machine: Machine) -> None:
    items = proof.stores.items(f"RUN#{machine.root}")
    spent, charged = 0, 0
    for call in _admissions(items):
        kept = {a: reply for a in range(1, call.attempt + 1) if (reply := _kept(proof, call, a))}
        counted = {
            a: WORST if a in call.lost else _cost(kept[a]) for a in {*call.lost, *kept.keys()}
        }
        spent += sum(counted.values())
        path = call.claim.call
        made = [one for one in proof.outside.asked if one.call == path and one.charged]
        charged += sum(PRICE.worst_case(one.input, one.output) for one in made)
        _hold(
            proof,
            len(made) <= len(counted),
            f"{path}: the provider charged {len(made)} calls, counted are {counted}",
        )
        most = 1 + UNKNOWN_REPEATS + machine.redrive
        _hold(proof, len(made) <= most, f"{path}: paid {len(made)} times, lost {call.lost}")
        if path in machine.answers:
            record = CallRecord.model_validate_json(value_of(items[f"CALL#{path}"], "data"))
            said = kept[record.attempt].text
            _hold(proof, said == machine.answers[path], f"{path}: answered {said} from the record")
    budget = {name: value_of(items["BUDGET"], name) for name in ("spent", "reserved", "over")}
    _hold(proof, budget == {"spent": spent, "reserved": 0, "over": 0}, f"{budget}, not {spent}")
    _hold(proof, charged <= spent, f"{machine.root}: {charged} charged, {spent} counted")


def _hold(proof: Proof, true: bool, otherwise: str) -> None:  # what must be true
    if not true:
        proof.problems.append(otherwise)


def _admissions(items: Mapping[str, Any]) -> list[Admission]:
    return [admission_items.read(one) for key, one in items.items() if key.startswith("ADMISSION#")]


def _all(proof: Proof) -> list[Admission]:
    return [
        one
        for machine in proof.machines
        for one in _admissions(proof.stores.items(f"RUN#{machine.root}"))
    ]


def _kept(proof: Proof, call: Admission, attempt: int) -> ModelReply | None:
    reply = proof.stores.reply(reply_key(call, attempt))
    return None if reply is None else ModelReply.model_validate(reply)


def _cost(reply: ModelReply) -> int:
    assert reply.usage is not None
    return PRICE.actual(reply.usage)


def _swept(proof: Proof) -> None:
    with suppress(Failed):
        proof.machines[0].pool.invoke({"do": "sweep"}, 10)


def _meddled(proof: Proof, dice: random.Random) -> None:
    """An operator pauses and resumes a run, and gives those that wait for money some more."""
    machine = dice.choice(proof.machines)
    run = {"id": machine.name, "root": machine.root, "workflow": "w", "tenant": machine.tenant}
    for task in ({"do": "pause"}, {"do": "resume"}, {"do": "raise_budget", "by": WORST}):
        with suppress(Failed):
            proof.pool.invoke({**task, "run": run}, 10)


def _proved(seed: int, *, runs: int, calls: int, workers: int, bug: str = "") -> Proof:
    with proof(seed, runs=runs, calls=calls, workers=workers, bug=bug) as whole:
        work(whole, random.Random(seed), kill_every=0.8)  # noqa: S311  # seeded
        settle_down(whole)
        look_back(whole)
    return whole


@pytest.mark.timeout(290)
@pytest.mark.parametrize("seed", [1, 6])
def test_killed_frozen_and_refused_workers_pay_once_and_keep_to_limits_and_money(seed: int) -> None:
    whole = _proved(seed, runs=8, calls=CALLS, workers=6)
    print(  # noqa: T201  # what the proof went through
        f"{len(whole.outside.asked)} requests of the provider,"
        f" {sum(whole.stores.front.requests.values())} of the table,"
        f" {whole.stores.front.injected} faults, {whole.pool.killed} killed,"
        f" {whole.pool.frozen} frozen,"
        f" {sum(machine.redrive for machine in whole.machines)} redrives,"
        f" {sum(len(machine.answers) for machine in whole.machines)} answers"
    )
    assert whole.wrong == []
    assert whole.pool.killed
    assert whole.pool.frozen
    assert any(len(machine.answers) == 2 * CALLS for machine in whole.machines)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("bug", BUGS)
def test_a_dropped_condition_is_found(bug: str) -> None:
    found = any(_proved(seed, runs=4, calls=2, workers=6, bug=bug).wrong for seed in range(1, 4))
    assert found, f"workers without the condition on {bug} pass for correct"
