"""What the gate costs a model call: `python tests/benchmarks/gate.py` prints a table.

The model answers at once, so what is left is the gate: boto3 over HTTP to the laptop's DynamoDB,
which works in a process of its own and takes one request at a time.
"""

import asyncio
import multiprocessing
import os
import platform
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any, Final

import boto3
from botocore.config import Config
from rich.console import Console
from rich.table import Table as Printed

from autoops import closing
from autoops.adapters.admissions import DynamoAdmissions
from autoops.adapters.clock import SystemClock
from autoops.adapters.dynamodb import DynamoLedger
from autoops.adapters.table import Table
from autoops.calls import PaidCalls
from autoops.closing import Closing
from autoops.domain.admissions import AdmissionState, Asker, CallClaim, Limit
from autoops.domain.contracts import Json, Run
from autoops.domain.ledger import OpenedRun, StepRecord
from autoops.domain.model import ModelReply
from autoops.domain.pricing import Usage
from autoops.errors import TryAgain
from autoops.gate import Gate
from fakes import FakeArtifacts
from integration.aws import declaration
from local.aws import Moto, moto_services
from local.constants import REGION
from local.gateway import bind, gateway, serving

MODEL: Final = "amazon.nova-lite-v1:0"
REPLY: Final = ModelReply(stop_reason="end_turn", text="Yes.", usage=Usage(input=10, output=1))
WORST: Final = 100_000
RUNS: Final = 64
CALLS: Final = 4
ROUNDS: Final = 2
SWEEP_SECONDS: Final = 5.0


@dataclass
class Tokens:
    """Task tokens in memory, and executions that all run."""

    waiting: dict[str, threading.Event] = field(default_factory=dict)

    def succeed(self, token: str, output: Json) -> bool:
        """See `Workflows.succeed`."""
        del output
        waiter = self.waiting.pop(token, None)
        if waiter is not None:
            waiter.set()
        return waiter is not None

    def fail(self, token: str, error: str, cause: str) -> bool:
        """See `Workflows.fail`."""
        raise RuntimeError(f"{token}: {error}: {cause}")

    def redrive_running(self, execution: str) -> int | None:
        """See `Workflows.redrive_running`."""
        del execution
        return 0

    def stop(self, execution: str, error: str, cause: str) -> None:
        """See `Workflows.stop`."""
        raise NotImplementedError

    def redrive(self, execution: str) -> None:
        """See `Workflows.redrive`."""
        raise NotImplementedError

    def publish(self, kind: str, detail: Json) -> None:
        """See `Events.publish`."""


class Bench:
    """Calls through the gate on a table behind a URL."""

    def __init__(self, url: str, limit: Limit) -> None:
        config = Config(retries={"total_max_attempts": 1}, max_pool_connections=RUNS + 2)
        self.dynamodb = boto3.client(  # the bench's own, for many threads
            "dynamodb",
            endpoint_url=url,
            region_name=REGION,
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=config,
        )
        self.requests: list[str] = []
        self.dynamodb.meta.events.register("before-call.dynamodb", self._seen)
        table = Table(self.dynamodb, "Ledger")
        self.ledger, self.tokens = DynamoLedger(table), Tokens()
        self.artifacts, self.clock = FakeArtifacts(), SystemClock()
        admissions = DynamoAdmissions(table, {MODEL: limit})
        lease = timedelta(seconds=90)
        self.gate = Gate(admissions, self.ledger, self.tokens, self.tokens, self.clock, lease)
        self.woken = 0

    def run(self, name: str) -> Run:
        """A run that is open."""
        run = Run(id=name, root=f"bench:{name}", workflow="bench", tenant=name[:2])
        opened = OpenedRun(run=run, execution=name, ceiling=10**9, opened_at=self.clock.now())
        self.ledger.open_run(opened)
        return run

    def call(self, run: Run, number: int) -> None:
        """Admit, wait, call, settle, and write the step down, as Admit and CallModel do."""
        path = f"{run.root}/Call/{number}/0"
        claim = CallClaim(call=path, fingerprint=path, model=MODEL, worst=WORST)
        waiter = self.tokens.waiting.setdefault(path, threading.Event())
        began = self.clock.now()
        admission = self.gate.ask(run, claim, Asker(execution=run.id, token=path, since=path))
        if admission.state is AdmissionState.WAITING:
            waiter.wait()
        PaidCalls(run, self.gate, self.artifacts).make(claim, lambda: REPLY)
        self.ledger.record_step(run, self._step(path, began))

    def one_by_one(self, name: str, calls: int = 100) -> list[float]:
        """Milliseconds of each call of a run of its own, nothing parked."""
        run, took = self.run(name), []
        for number in range(calls):
            began = time.perf_counter()
            self.call(run, number)
            took.append((time.perf_counter() - began) * 1000)
        return took

    def together(self, prefix: str) -> float:
        """Calls a second of so many runs at once."""
        runs = [self.run(f"{prefix}{number}") for number in range(RUNS)]
        threads = [threading.Thread(target=self._calls, args=(run,)) for run in runs]
        with self._swept():
            began = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return RUNS * CALLS / (time.perf_counter() - began)

    def _calls(self, run: Run) -> None:
        for number in range(CALLS):
            self.call(run, number)

    @contextmanager
    def _swept(self) -> Iterator[None]:
        """Sweep again and again: whoever was forgotten would hold up the bench for ever."""
        done = threading.Event()
        closing.PATIENCE = timedelta(seconds=SWEEP_SECONDS)  # type: ignore[misc]  # not a minute

        def sweep() -> None:
            while not done.wait(SWEEP_SECONDS):
                try:
                    self.woken += Closing(self.gate, self.artifacts).sweep()
                except TryAgain:
                    continue

        thread = threading.Thread(target=sweep)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _step(self, path: str, began: Any) -> StepRecord:
        return StepRecord(
            name="CallModel",
            request=path,
            function="bench:1",
            attempt=0,
            map_index=None,
            started_at=began,
            ended_at=self.clock.now(),
            input_hash="0" * 64,
            output=None,
            error=None,
        )

    def _seen(self, **request: Any) -> None:
        self.requests.append(request["model"].name)


def serve(urls: Connection, limit_of_time: float) -> None:
    """Serve an empty table until the bench has ended."""
    names = ("AttributeDefinitions", "KeySchema", "BillingMode", "GlobalSecondaryIndexes")
    declared = declaration("Ledger")
    moto = Moto()
    create = {"TableName": "Ledger", **{name: declared[name] for name in names}}
    moto.ask("dynamodb", "DynamoDB_20120810.CreateTable", create)

    async def serving_it() -> None:
        async with serving(gateway(moto_services(moto)), bind(0)) as url:
            urls.send(url)
            await asyncio.to_thread(urls.poll, limit_of_time)

    asyncio.run(serving_it())


@contextmanager
def served() -> Iterator[str]:
    """A table of its own process; gives its URL."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, 600.0))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("done")
        process.join()


def alone(limit: Limit) -> tuple[str, str]:
    """DynamoDB calls of one guarded call, and the milliseconds it takes."""
    with served() as url:
        bench = Bench(url, limit)
        bench.one_by_one("warm")
        run = bench.run("counted")
        bench.requests.clear()
        bench.call(run, 0)
        requests = list(bench.requests)
        took = [statistics.median(bench.one_by_one(f"round{n}")) for n in range(ROUNDS)]
        return f"{len(requests)}: {', '.join(requests)}", f"{min(took):.1f}"


def together(limit: Limit) -> tuple[str, str, str]:
    """Calls a second of all runs at once, DynamoDB calls for each, calls that a sweep let in."""
    with served() as url:
        bench = Bench(url, limit)
        rates = [bench.together(f"{n}-") for n in range(ROUNDS)]
        each = len(bench.requests) / (ROUNDS * RUNS * CALLS)
        return f"{max(rates):.0f}", f"{each:.1f}", str(bench.woken)


def main() -> None:
    """Print the table."""
    load = ", ".join(f"{one:.2f}" for one in os.getloadavg())
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load}"
    table = Printed(title=f"The gate; {machine}; Python {platform.python_version()}")
    for column in ("what", "figure"):
        table.add_column(column)
    for name, limit in (("a limit", Limit(concurrency=8)), ("no limit", Limit())):
        calls, took = alone(limit)
        table.add_row(f"DynamoDB calls of one model call, {name}, nothing parked", calls)
        table.add_row(f"ms added to one model call, {name}, best median of 100", took)
    for name, slots in (("8", 8), ("1,000, never reached", 1_000)):
        rate, each, woken = together(Limit(concurrency=slots))
        table.add_row(f"calls/s, {RUNS} runs share a limit of {name}", rate)
        table.add_row("... DynamoDB calls for each", each)
        table.add_row(f"... let in by a sweep, of {ROUNDS * RUNS * CALLS}", woken)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
