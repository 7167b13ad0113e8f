"""Runs, workers, operators and what can happen to them, one call at a time, as a dice decides.

The ledger, the admissions, the gate and the paid calls are the real ones. `World.live` lets
anything happen in any order; `World.come_to_rest` then lets everything end, and holds what is left
against what must be true at rest.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any, Final
from unittest import mock

from autoops.calls import PaidCalls, reply_key
from autoops.domain.admissions import Admission, AdmissionState, Asker, CallClaim, Limit
from autoops.domain.contracts import Json, Run
from autoops.domain.ledger import CallRecord, OnBudget, OnUnknown, OpenedRun
from autoops.domain.model import ModelReply
from autoops.domain.pricing import Usage, price_of
from autoops.errors import (
    AutoOpsError,
    ContextTooLong,
    DependencyUnavailable,
    InvalidInput,
    ModelFaulted,
    ModelThrottled,
    ModelTimedOut,
    ModelUnavailable,
)
from autoops.operations import Operations
from fakes import FakeWorkflows
from gate_bench import GateBench
from gate_proof.invariants import Invariants
from gate_proof.machines import CORRECTIONS, READMISSIONS, At, Branch, Execution, name_of
from gate_proof.scheduler import Actor, Fault, Process, Scheduler, Threading
from gate_proof.table import Alter, WatchedTable
from samples import MODEL
from triggers.close_run.step import StatusChange, close_run
from triggers.sweep.step import Tick, sweep

TOKEN_PRICE: Final = price_of(MODEL).input // 1_000_000
WORST: Final = 10 * TOKEN_PRICE
ACCOUNT: Final = 60 * WORST
PREFIX: Final = "autoops-"
MINUTE: Final = timedelta(minutes=1)
ROUNDS: Final = 90
TRACED: Final = 3
DENSE: Final = 0.4
"""How often a world has one run of few calls, where everything meets at one admission."""
STALLS: Final = 0.08
"""How often a process stands still after a call, so that it goes on from what it saw long ago."""

SAYS: Final[Mapping[str, type[AutoOpsError]]] = {
    "throttled": ModelThrottled,
    "unavailable": ModelUnavailable,
    "refused": ContextTooLong,
    "timed out": ModelTimedOut,
    "faulted": ModelFaulted,
}
FREE: Final = frozenset({"throttled", "unavailable", "refused"})


@dataclass(frozen=True)
class Watched(PaidCalls):
    """Paid calls that tell the world which attempt is made."""

    world: "World" = field(kw_only=True)
    kept: frozenset[str] = field(kw_only=True)

    def _attempt(
        self, admission: Admission, call: Callable[[], ModelReply]
    ) -> tuple[ModelReply, CallRecord]:
        del call  # who makes it knows no attempt; the world has to
        self.world.attempted(self, admission)
        return super()._attempt(admission, lambda: self.world.provider(admission))


class World:
    """Everything that moves.

    Args:
        dice: makes all decisions.
        alter: changes each write; none is changed by default.
    """

    def __init__(self, dice: Random, alter: Alter = lambda write: write) -> None:
        self.dice = dice
        self.calm = False
        self.stalled: set[Process] = set()
        self.scheduler = Scheduler()
        self.table = WatchedTable(self.scheduler.point, self._look, alter)
        self.bench = GateBench(
            limits=self._limits(), dynamodb=self.table, workflows=StepFunctions(self)
        )
        self.bench.artifacts.watch = self._artifacts
        self.bench.operations = Operations(self.bench.gate, ACCOUNT)
        self.invariants = Invariants(self.table.items, self.bench.limits, ACCOUNT)
        self.executions: dict[str, Execution] = {}
        self.opened: dict[str, OpenedRun] = {}
        self.branches: list[Branch] = []
        self.events: list[Mapping[str, Any]] = []
        self.invocations: list[Process] = []
        self.asked: dict[tuple[str, int], str] = {}
        self.made_by: dict[tuple[str, int], Process] = {}
        self._numbers = itertools.count()
        self.dense = dice.random() < DENSE
        for number in range(1 if self.dense else dice.choice((1, 2, 2, 3))):
            self._open(number)

    @property
    def now(self) -> datetime:
        return self.bench.clock.now()

    @property
    def roots(self) -> list[Execution]:
        return [each for each in self.executions.values() if each.parent is None]

    # --- What there is ----------------------------------------------------------------------------

    def _limits(self) -> dict[str, Limit]:
        concurrency = self.dice.choice((None, 1, 1, 2, 3))
        requests = self.dice.choice((None, None, None, 1, 3))
        tokens = self.dice.choice((None, None, None, 25))
        return {MODEL: Limit(concurrency=concurrency, requests=requests, tokens=tokens)}

    def _open(self, number: int) -> None:
        tenant = f"tenant{self.dice.randrange(3)}"
        run = Run(
            id=f"r{number}",
            root=f"answer-question:r{number}",
            workflow="answer-question",
            tenant=tenant,
        )
        root = self.executions[run.root] = Execution(run.root, run)
        self.opened[run.root] = OpenedRun(
            run=run,
            execution=run.root,
            ceiling=WORST * self.dice.choice((1, 2, 3, 50, 50)) + 7,
            opened_at=self.now,
            on_budget=self.dice.choice((OnBudget.ASK, OnBudget.STOP)),
            on_unknown=self.dice.choice((OnUnknown.REPEAT, OnUnknown.REPEAT, OnUnknown.FAIL)),
        )
        self.bench.ledger.open_run(self.opened[run.root])
        for branch in range(self.dice.choice((1, 2) if self.dense else (1, 2, 2, 3))):
            execution = root
            if self.dice.random() < 0.25:
                child = f"{run.root}:child{branch}"
                execution = self.executions[child] = Execution(child, run, parent=root)
            self.branches.append(self._branch(execution, branch))

    def _branch(self, execution: Execution, number: int) -> Branch:
        name = f"{execution.run.root}/{number}"
        claims = [
            [self._claim(f"{name}/{question}/{each}") for each in range(CORRECTIONS + 1)]
            for question in range(3 if self.dense else self.dice.choice((1, 1, 2)))
        ]
        return Branch(name, execution, claims)

    def _claim(self, call: str, version: int = 0) -> CallClaim:
        return CallClaim(
            call=call,
            fingerprint=f"{version}".rjust(64, "0"),
            model=MODEL,
            worst=WORST * (1 + version),
            tokens=10,
        )

    # --- Anything may happen ----------------------------------------------------------------------

    def live(self, steps: int) -> None:
        """So many steps, each of them anything that can happen now."""
        for _ in range(steps):
            if self.dice.random() < (0.75 if self.dense else 0.87):
                self._go_on()
            else:
                self.dice.choice(self._happenings())()

    def _go_on(self) -> bool:
        able: list[Actor | Branch] = [
            actor for actor in self.scheduler.ready() if actor.process not in self.stalled
        ]
        able += [branch for branch in self.branches if branch.can_go(self.now)]
        if not able:
            if not self.calm:
                self.dice.choice((self._time_passes, self._wake))()
            return False
        one = self.dice.choice(able) if len(able) > 1 else able[0]
        if isinstance(one, Branch):
            self._invoke(one)
        else:
            self.scheduler.run(one, self._fault(one))
            if not self.calm and self.dice.random() < STALLS:
                self.stalled.add(one.process)
        return True

    def _wake(self) -> None:
        """A process goes on that stood still while others worked."""
        if self.stalled:
            stalled = sorted(self.stalled, key=lambda process: process.name)
            self.stalled.discard(self.dice.choice(stalled))

    def _fault(self, actor: Actor) -> Fault:
        if actor.at == "provider":
            calm = self.calm or self.dice.random() < 0.6
            return None if calm else self.dice.choice(list(SAYS))
        if self.calm or actor.at in ("start", "wait", "join") or self.dice.random() > 0.06:
            return None
        return self.dice.choice(("unavailable", "lost", "conflict"))

    def _happenings(self) -> list[Callable[[], object]]:
        return [
            self._time_passes,
            self._time_passes,
            self._wake,
            self._wake,
            self._wake,
            self._sweep,
            self._deliver,
            self._deliver,
            self._kill,
            self._kill,
            self._give_up,
            self._give_up,
            self._operate,
            self._operate,
            self._abort,
            self._open_again,
            *(self._rush if self.dense else ()),
        ]

    @property
    def _rush(self) -> tuple[Callable[[], object], ...]:
        """What makes workers meet at one admission."""
        return (self._give_up,) * 6 + (self._wake,) * 4 + (self._time_passes,) * 4 + (self._sweep,)

    def _time_passes(self) -> None:
        seconds = self.dice.choice((0.5, 1, 2, 15, 31, 61, 91))
        self.scheduler.note(f"{seconds} s pass")
        self.bench.clock.advance(timedelta(seconds=seconds))

    def _process(self, name: str, work: Callable[[], object], **more: Any) -> Process:
        process = Process(f"{name} {next(self._numbers)}", **more)
        self.scheduler.start(process, work)
        return process

    def _sweep(self) -> None:
        bench = self.bench
        self._process("sweep", lambda: sweep(Tick(), bench.gate, bench.artifacts))

    def _deliver(self) -> None:
        """An event of an execution's end, soon or late, once or twice."""
        if not self.events:
            return
        event = self.dice.choice(self.events)
        if self.calm or self.dice.random() < 0.6:
            self.events.remove(event)
        change = StatusChange.model_validate(event)
        bench = self.bench
        self._process("close_run", lambda: close_run(change, bench.gate, bench.artifacts, PREFIX))

    def _kill(self) -> None:
        processes = list(dict.fromkeys(actor.process for actor in self.scheduler.actors))
        if processes:
            self.scheduler.kill(self.dice.choice(processes))

    def _give_up(self) -> None:
        """A state takes its invocation for lost; the invocation goes on."""
        waiting = [branch for branch in self.branches if branch.invocation is not None]
        if waiting:
            branch = self.dice.choice(waiting)
            error = "States.Timeout" if branch.at is At.CALL else "Lambda.Unknown"
            self.scheduler.note(f"{branch.name}: {error}")
            self._went_wrong(branch, error)

    def _operate(self) -> None:
        root = self.dice.choice(self.roots).arn
        does = self.bench.operations
        name, work = self.dice.choice(
            (
                ("pause", lambda: does.pause(root)),
                ("resume", lambda: does.resume(root)),
                ("resume", lambda: does.resume(root)),
                ("raise", lambda: does.raise_budget(root, WORST)),
                ("redrive", lambda: does.redrive(root)),
                ("redrive", lambda: does.redrive(root)),
                ("stop", lambda: does.stop(root))
                if self.dice.random() < 0.3
                else ("redrive", lambda: does.redrive(root)),
            )
        )
        self._process(f"{name} {root}", work)

    def _abort(self) -> None:
        """Someone stops an execution by the console."""
        running = [each for each in self.executions.values() if each.running]
        if running and self.dice.random() < 0.3:
            self.end(self.dice.choice(running), "ABORTED", None)

    def _open_again(self) -> None:
        """The first step of a run is made twice."""
        root = self.dice.choice(self.roots)
        opened = self.opened[root.arn]
        self._process(f"open {root.arn}", lambda: self.bench.ledger.open_run(opened))

    # --- Step Functions ---------------------------------------------------------------------------

    def _invoke(self, branch: Branch) -> None:
        execution, claim = branch.execution, branch.claim
        if branch.at is At.CALL:
            process = self._process(
                f"CallModel {claim.call}", lambda: self._call_model(execution.run, claim)
            )
        else:
            if max(branch.again, branch.throttled) > READMISSIONS + execution.redrive:
                self._failed(branch, "AdmissionLost")
                return
            token = f"token{next(self._numbers)}"
            asker = Asker(
                execution=execution.arn,
                redrive=execution.redrive,
                since=branch.since,
                token=token,
            )
            process = self._process(
                f"Admit {claim.call} {token}", lambda: self._admit(execution.run, claim, asker)
            )
            branch.token = token
        branch.invocation = process
        process.ended = lambda result, error: self._returned(branch, process, result, error)

    def _admit(self, run: Run, claim: CallClaim, asker: Asker) -> None:
        """What the step does."""
        admission = self.bench.gate.ask(run, claim, asker)
        if admission.state is not AdmissionState.WAITING:
            self.bench.gate.tell(admission)

    def _call_model(self, run: Run, claim: CallClaim) -> CallRecord:
        kept = frozenset(self.bench.artifacts.values)
        calls = Watched(run, self.bench.gate, self.bench.artifacts, world=self, kept=kept)
        reply, record = calls.make(claim, lambda: ModelReply(stop_reason="", text="", usage=None))
        assert reply.text == f"{claim.call} {claim.fingerprint} {record.attempt}", reply
        return record

    def _returned(
        self, branch: Branch, process: Process, result: Any, error: BaseException | None
    ) -> None:
        del result
        if branch.invocation is not process:
            return
        if error is not None:
            self._went_wrong(branch, name_of(error))
        elif branch.at is At.CALL:
            branch.accepted(good=self.calm or self.dice.random() < 0.7)
            self._ended_well(branch)
        else:
            branch.invocation = None

    def _ended_well(self, branch: Branch) -> None:
        execution = branch.execution
        own = [each for each in self.branches if each.execution is execution]
        if not all(each.at is At.DONE for each in own):
            return
        if execution.parent is not None:
            execution.status = "SUCCEEDED"
        root = execution.parent or execution
        family = [each for each in self.branches if each.execution.run is root.run]
        if all(each.at is At.DONE for each in family):
            self.end(root, "SUCCEEDED", None)

    def _went_wrong(self, branch: Branch, error: str) -> None:
        earlier = branch.at is At.ADMIT and error == "CallInProgress"
        assert not earlier, f"{branch.name}: its latest asking was refused as an earlier one"
        if not branch.went_wrong(error, self.now):
            self._failed(branch, error)

    def _failed(self, branch: Branch, error: str) -> None:
        branch.failed = True
        self.end(branch.execution, "FAILED", error)

    def end(self, execution: Execution, status: str, error: str | None) -> None:
        """End an execution with its family, and say so on the bus."""
        root = execution.parent or execution
        if not root.running:
            return
        self.scheduler.note(f"{root.arn}: {status} {error or ''}")
        for each in self.executions.values():
            if each.run is root.run and each.running:
                each.status = status if each is root else "ABORTED"
        for branch in self.branches:
            if branch.execution.run is root.run:
                branch.token = branch.invocation = None
        self.events.append(
            {
                "stateMachineArn": f"arn:aws:states:x:1:stateMachine:{PREFIX}answer-question",
                "name": root.run.id,
                "status": status,
                "error": error,
                "stopDate": int(self.now.timestamp() * 1000),
                "redriveCount": root.redrive,
            }
        )

    def redriven(self, root: Execution) -> None:
        """Go on from what failed; a child goes on too, or another takes its place."""
        root.status, root.redrive = "RUNNING", root.redrive + 1
        for child in [each for each in self.executions.values() if each.parent is root]:
            if child.status == "SUCCEEDED":
                continue
            child.status, child.redrive = "RUNNING", child.redrive + 1
        another = self.dice.random() < 0.15
        for branch in self.branches:
            if branch.execution.run is not root.run:
                continue
            branch.redriven()
            if another and branch.at is At.ADMIT:
                branch.claims[branch.question] = [
                    self._claim(claim.call, version=root.redrive)
                    for claim in branch.claims[branch.question]
                ]

    def answered(self, token: str, error: str | None) -> bool:
        """A task token is answered; whether anyone waited for it."""
        for branch in self.branches:
            if branch.token == token and branch.execution.running:
                if error is None:
                    branch.enter(At.CALL)
                else:
                    self._went_wrong(branch, error)
                return True
        return False

    # --- The provider -----------------------------------------------------------------------------

    def attempted(self, calls: Watched, admission: Admission) -> None:
        """A worker is about to make an attempt: nobody made it, and no reply was there before."""
        made = admission.claim.call, admission.attempt
        assert made not in self.asked, f"{made}: made twice"
        self.asked[made] = "about to"
        actor = self.scheduler.actor
        assert actor is not None
        self.made_by[made] = actor.process
        before = [reply_key(admission, attempt) for attempt in range(1, admission.attempt)]
        paid = [key for key in before if key in calls.kept]
        assert not paid, f"{made}: paid again, {paid} was there"

    def provider(self, admission: Admission) -> ModelReply:
        """The provider takes the call, charges it, and answers later, if at all."""
        claim, made = admission.claim, (admission.claim.call, admission.attempt)
        says = self.scheduler.point("provider")
        if says in FREE:
            self.asked[made] = says or ""
            raise SAYS[says or ""]("says the provider")
        tokens = self.dice.choice((1, 4, 10, 10)) * (claim.worst // WORST)
        if self.dice.random() < 0.03:
            tokens += 4
        usage = None if self.dice.random() < 0.1 else Usage(input=tokens)
        self.invariants.costs[made] = claim.worst if usage is None else tokens * TOKEN_PRICE
        self.asked[made] = "charged"
        if says is not None:
            raise SAYS[says]("says the provider")
        self.scheduler.point("answer")
        said = f"{claim.call} {claim.fingerprint} {admission.attempt}"
        return ModelReply(stop_reason="end_turn", text=said, usage=usage)

    def _artifacts(self, moment: str) -> None:
        if moment.startswith("before") and self.scheduler.point(moment) is not None:
            raise DependencyUnavailable("the artifact store did not answer")

    def _look(self) -> None:
        if hasattr(self, "invariants"):
            actor = self.scheduler.actor
            process = None if actor is None else actor.process
            self.invariants.look(self.now, lambda made: self.made_by.get(made) is process)

    # --- At rest ----------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Nothing goes wrong any more: all runs end, and nothing is left of them."""
        self.calm = True
        self.stalled.clear()
        self.scheduler.note("to rest")
        for turn in range(ROUNDS):
            self.scheduler.quiet = turn >= TRACED
            self._exhaust()
            if not any(root.running for root in self.roots):
                break
            self._help()
            self.bench.clock.advance(timedelta(seconds=61))
            self._sweep()
            self._exhaust()
        running = [root.arn for root in self.roots if root.running]
        assert not running, f"never ended: {running} {self._stuck()}"
        for _ in range(3):
            self.bench.clock.advance(timedelta(seconds=121))
            self._sweep()
            self._exhaust()
        self._nothing_left()

    def _exhaust(self) -> None:
        while self._go_on() or self.events:
            if self.events and not self.scheduler.actors:
                self._deliver()

    def _help(self) -> None:
        """An operator lets go on what only an operator can."""
        for root in self.roots:
            state = self.bench.ledger.run_state(root.arn)
            if state is None or not root.running:
                continue
            refused = self.bench.budget(root.run).ceiling + 20 * WORST > ACCOUNT
            waits = any(
                each.root == root.arn and each.wait == "money"
                for each in self.invariants.admissions.values()
            )
            if state.stopped or (waits and refused):
                self._process("stop", partial(self._operated, "stop", root.arn))
            elif state.paused:
                self._process("resume", partial(self._operated, "resume", root.arn))
            else:
                self._process("raise", partial(self._operated, "raise_budget", root.arn))
        self._exhaust()

    def _operated(self, name: str, root: str) -> None:
        more = (20 * WORST,) if name == "raise_budget" else ()
        with suppress(AutoOpsError):
            getattr(self.bench.operations, name)(root, *more)

    def _stuck(self) -> list[str]:
        return [
            f"{branch.name} at {branch.at} for {branch.token}, {branch.invocation}"
            for branch in self.branches
            if not branch.ended and branch.execution.running
        ] + [str(each) for each in self.invariants.admissions.values() if each.open]

    def _nothing_left(self) -> None:
        left = [each for each in self.invariants.admissions.values() if each.open]
        assert not left, f"left open: {left}"
        for (partition, sort), item in self.table.items.items():
            assert not partition.startswith("QUEUE#"), f"left in the queue: {sort}"
            if sort == "BUDGET":
                assert item["reserved"] == {"N": "0"}, f"{partition}: {item}"
            if sort.startswith("SLOT#"):
                assert item["held"] == {"N": "0"}, f"{partition} {sort}: {item}"
        charged = {made for made, what in self.asked.items() if what == "charged"}
        forgotten = charged - self.invariants.counted
        assert not forgotten, f"charged and not counted: {forgotten}"


class StepFunctions(FakeWorkflows):
    """`autoops.ports.Workflows` for the executions of a world; each call hands over first."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def succeed(self, token: str, output: Json) -> bool:
        del output
        self._point("SendTaskSuccess")
        return self._world.answered(token, None)

    def fail(self, token: str, error: str, cause: str) -> bool:
        del cause
        self._point("SendTaskFailure")
        return self._world.answered(token, error)

    def redrive_running(self, execution: str) -> int | None:
        self._point("DescribeExecution")
        found = self._world.executions[execution]
        return found.redrive if found.running else None

    def stop(self, execution: str, error: str, cause: str) -> None:
        del cause
        self._point("StopExecution")
        self._world.end(self._world.executions[execution], "ABORTED", error)

    def redrive(self, execution: str) -> None:
        self._point("RedriveExecution")
        found = self._world.executions[execution]
        if found.running or found.status == "SUCCEEDED":
            raise InvalidInput("run: its execution cannot be redriven")
        self._world.redriven(found)

    def _point(self, call: str) -> None:
        if self._world.scheduler.point(call) is not None:
            raise DependencyUnavailable("Step Functions did not answer")


@contextmanager
def small_shards(world: World) -> Iterator[None]:
    """Each slot has a shard of its own, and lease threads take turns like everyone else."""

    def alarm(seconds: float) -> Callable[[], bool]:
        rings = world.now + timedelta(seconds=seconds)
        return lambda: world.now >= rings

    shards = 1 if world.dice.random() < 0.5 else 16
    with (
        mock.patch("autoops.domain.admissions.SLOTS_PER_SHARD", shards),
        mock.patch("autoops.calls.threading", Threading(world.scheduler, alarm)),
    ):
        yield


def explore(dice: Random, alter: Alter = lambda write: write, steps: int = 150) -> World:
    """One world, from its opening to its rest."""
    world = World(dice, alter)
    try:
        with small_shards(world):
            world.live(steps)
            world.come_to_rest()
    except AssertionError as error:
        error.add_note("\n".join(world.scheduler.trace))
        raise
    finally:
        world.scheduler.clear()
    return world
