"""How fast the engine is: `python tests/benchmarks/stepfunctions.py` prints a table.

A linear machine of 6 Task states whose in-process handlers return 1 KB of JSON each: executions a
second, how that and memory stand after many, Maps, start-up, and where the time goes. Some
minutes; `--quick` runs a fifth of it.
"""

import argparse
import asyncio
import gc
import json
import multiprocessing
import os
import platform
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

from local.invoke import InvokeResult
from local.memory import collect_less
from local.stepfunctions.engine import Engine
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.journal import Journal

PAYLOAD: Final = json.dumps({f"field-{n:02}": "x" * 20 for n in range(28)}).encode()
STATES: Final = 6
SIZES: Final = (100, 1_000, 5_000, 20_000)
STRETCH: Final = 500
PARTS: Final = {
    "JSONata": ("stepfunctions/expressions.py", "stepfunctions/jsonata_"),
    "JSON": ("stepfunctions/jsontext.py", "/json/"),
    "journal": ("stepfunctions/journal.py", "stepfunctions/writer.py"),
    "task execution": ("stepfunctions/integrations/", "stepfunctions/tasks.py", "/benchmarks/"),
    "loop": (
        "stepfunctions/driver.py",
        "stepfunctions/turns.py",
        "stepfunctions/clock.py",
        "/asyncio/",
        "selectors.py",
    ),
    "advance": ("/stepfunctions/",),
}
"""Where a moment is counted: the first part that fits the innermost file that any fits."""
FIRST: Final = """
import asyncio
from local.stepfunctions.engine import Engine
from local.stepfunctions.integrations.runner import Integrations

async def first():
    engine = Engine(Integrations(None), seed=1)
    text = '{"QueryLanguage":"JSONata","StartAt":"A","States":{"A":{"Type":"Succeed"}}}'
    arn = engine.create_state_machine(name="first", definition=text)
    run = engine.start(engine.machines.target(arn), "{}")
    await engine.run_express(run)
    assert run.status == "SUCCEEDED"

asyncio.run(first())
"""


class Handlers:
    """In-process functions; `sleeps` takes 200 ms, all others answer at once."""

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        del payload, asynchronous
        if function_arn.endswith("sleeps"):
            await asyncio.sleep(0.2)
        return InvokeResult(200, PAYLOAD)


def linear(*, sleeping: bool = False) -> str:
    """The machine of 6 Tasks."""
    states: dict[str, Any] = {}
    for number in range(STATES):
        name = "sleeps" if sleeping and number == 2 else "work"
        state: dict[str, Any] = {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Arguments": {
                "FunctionName": f"arn:aws:lambda:us-east-1:123456789012:function:{name}",
                "Payload": {"step": number, "input": "{% $states.input %}"},
            },
            "Output": "{% $states.result.Payload %}",
            "TimeoutSeconds": 60,
        }
        states[f"S{number}"] = state
        last = number == STATES - 1
        state |= {"End": True} if last else {"Next": f"S{number + 1}"}
    return json.dumps({"QueryLanguage": "JSONata", "StartAt": "S0", "States": states})


def mapped(*, distributed: bool) -> str:
    """A Map over its input: inline, or with an execution for each item."""
    each = {"Type": "Pass", "Output": "{% $states.input + 1 %}", "End": True}
    mode = "DISTRIBUTED" if distributed else "INLINE"
    processor: dict[str, Any] = {"StartAt": "Each", "States": {"Each": each}}
    processor["ProcessorConfig"] = {"Mode": mode, "ExecutionType": "STANDARD"}
    state = {"Type": "Map", "ItemProcessor": processor, "End": True}
    return json.dumps({"QueryLanguage": "JSONata", "StartAt": "All", "States": {"All": state}})


async def drive(engine: Engine, arn: str, total: int, at_once: int) -> list[float]:
    """Run so many executions, so many at once; returns each one's seconds."""
    times: list[float] = []
    left = iter(range(total))

    async def worker() -> None:
        for _ in left:
            began = time.perf_counter()
            run = engine.start(engine.machines.target(arn), '{"q":1}')
            await engine.run_express(run)
            times.append(time.perf_counter() - began)

    await asyncio.gather(*[worker() for _ in range(at_once)])
    return times


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def report(name: str, total: int, seconds: float, cpu: float, times: list[float]) -> None:
    """Print one line of the table."""
    times.sort()
    p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
    say(
        f"{name:44} {total / seconds:8.0f}/s  p50 {p50 * 1000:7.2f} ms"
        f"  p95 {p95 * 1000:7.2f} ms  cpu {cpu / total * 1e6:6.0f} us"
    )


class Bench:
    """An engine with the linear machine, warm.

    Args:
        journal: where its journal goes; without one it has none.
        sleeping: whether one state takes 200 ms.
    """

    def __init__(self, journal: Path | None, *, sleeping: bool = False) -> None:
        self.journal = None if journal is None else Journal(journal)
        self.engine = Engine(Integrations(Handlers()), seed=1, journal=self.journal)
        definition = linear(sleeping=sleeping)
        self.arn = self.engine.create_state_machine(name="linear", definition=definition)

    async def stretch(self, total: int, at_once: int) -> tuple[float, float, list[float]]:
        """Run so many executions; returns seconds, CPU seconds and each one's seconds."""
        gc.collect()
        cpu, began = time.process_time(), time.perf_counter()
        times = await drive(self.engine, self.arn, total, at_once)
        return time.perf_counter() - began, time.process_time() - cpu, times

    async def close(self) -> None:
        """Stop it."""
        await self.engine.close()
        if self.journal is not None:
            self.journal.close()


async def measure(
    name: str, total: int, at_once: int, journal: Path | None, *, sleeping: bool = False
) -> None:
    """One line, the best of some runs: executions a second of the linear machine."""
    runs = []
    for attempt in range(2 if sleeping else 3):
        path = None if journal is None else journal.with_suffix(f".{attempt}")
        bench = Bench(path, sleeping=sleeping)
        await bench.stretch(200 if at_once < STATES else 600, at_once)
        runs.append(await bench.stretch(total, at_once))
        await bench.close()
    report(name, total, *min(runs))


async def measure_growth(most: int, journal: Path | None) -> None:
    """A line for each size: executions a second once so many were run, and the memory then.

    In a process of its own, for its memory to be its own. A line is the best of five stretches.
    """
    collect_less()
    kind = "memory" if journal is None else "journal"
    bench, done = Bench(journal), 0
    for size in [size for size in SIZES if size <= most]:
        await bench.stretch(size - done, 64)
        runs = [await bench.stretch(STRETCH, 64) for _ in range(5)]
        name = f"{kind}, 64 at once, after {size} executions"
        report(name, STRETCH, *min(runs))
        done = size + 5 * STRETCH
        say(f"{'':44} {memory():8.0f} MB at most, {done} executions")
    await bench.close()


def grow(most: int, journal: Path | None) -> None:
    """Measure growth in this process."""
    asyncio.run(measure_growth(most, journal))


def memory() -> float:
    """The largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure_map(items: int, *, distributed: bool) -> None:
    """One line: a Map of so many items."""
    engine = Engine(Integrations(Handlers()), seed=1)
    text = mapped(distributed=distributed)
    arn = engine.create_state_machine(name="mapped", definition=text)
    cpu, began = time.process_time(), time.perf_counter()
    run = engine.start(engine.machines.target(arn), json.dumps(list(range(items))))
    await engine.run_express(run)
    seconds = time.perf_counter() - began
    used = time.process_time() - cpu
    mode = "distributed" if distributed else "inline"
    report(f"{mode} map of {items} items, {run.status}", items, seconds, used, [seconds])
    await engine.close()


def part_of(frame: FrameType | None) -> str:
    """The part of the engine that is at work."""
    while frame is not None:
        path = frame.f_code.co_filename
        for part, files in PARTS.items():
            if any(file in path for file in files):
                return part
        frame = frame.f_back
    return "other"


async def profile(total: int, journal: Path | None) -> None:
    """Print the share of the CPU time of each part, by looking at moments of it."""
    bench, seen = Bench(journal), Counter[str]()
    await bench.stretch(600, 64)
    old = signal.signal(signal.SIGPROF, lambda _, frame: seen.update([part_of(frame)]))
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    _, cpu, _ = await bench.stretch(total, 64)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, old)
    await bench.close()
    each, looks = cpu / total * 1e6, seen.total()
    kind = "memory" if journal is None else "journal"
    say(f"where the time goes, {kind}, 64 at once: {each:.0f} us each, {looks} looks")
    for part, count in seen.most_common():
        say(f"    {part:40} {count / looks:8.0%} {each * count / looks:8.0f} us")


def measure_disk(path: Path) -> None:
    """One line: commits a second of SQLite by itself, each of one row of 1 KB."""
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT);"
    )
    times = []
    for _ in range(3_000):
        began = time.perf_counter()
        database.execute("INSERT INTO row (text) VALUES (?)", (PAYLOAD.decode(),))
        times.append(time.perf_counter() - began)
    database.close()
    commits = 1 / sorted(times)[len(times) // 2]
    happenings = STATES + 1
    say(f"{'the disk: commits of one row':44} {commits:8.0f}/s")
    say(f"{f'... {happenings} one after the other, nothing else':44} {commits / happenings:8.0f}/s")


def measure_start(folder: str) -> None:
    """Two lines: seconds from nothing to a first result, within a process and over HTTP."""
    within = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", FIRST], check=True)
        within.append(time.perf_counter() - began)
    say(f"{'start-up to first result, in a process':44} {min(within) * 1000:8.0f} ms")
    served = min(first_served(Path(folder) / f"served-{n}.db") for n in range(5))
    say(f"{'start-up to first result, serve --journal':44} {served * 1000:8.0f} ms")


def first_served(journal: Path) -> float:
    """Seconds until a server that was just started has run a machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "local.stepfunctions", "--port", str(port)]
    began = time.perf_counter()
    server = subprocess.Popen([*command, "--journal", str(journal)])
    definition = {"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}
    wanted = {
        "name": "first",
        "type": "EXPRESS",
        "roleArn": "arn:aws:iam::123456789012:role/any",
        "definition": json.dumps(definition),
    }
    try:
        arn = call(port, "CreateStateMachine", wanted)["stateMachineArn"]
        answer = call(port, "StartSyncExecution", {"stateMachineArn": arn})
        if answer["status"] != "SUCCEEDED":
            raise RuntimeError(f"the first execution {answer['status']}")
        return time.perf_counter() - began
    finally:
        server.terminate()
        server.wait()


def call(port: int, operation: str, values: dict[str, Any]) -> dict[str, Any]:
    """Ask a server that may still be starting."""
    headers = {"X-Amz-Target": f"AWSStepFunctions.{operation}"}
    headers["Content-Type"] = "application/x-amz-json-1.0"
    request = Request(f"http://127.0.0.1:{port}/", json.dumps(values).encode(), headers)
    until = time.perf_counter() + 30
    while True:
        try:
            with urlopen(request) as answer:  # noqa: S310 - the loopback
                return dict(json.load(answer))
        except URLError:
            if time.perf_counter() > until:
                raise
            time.sleep(0.005)


async def speeds(total: int, folder: Path) -> None:
    """The lines of the linear machine."""
    for kind in ("memory", "journal"):
        for at_once in (1, 16, 64):
            path = folder / f"{at_once}" if kind == "journal" else None
            await measure(f"{kind}, {at_once} at once", total, at_once, path)
    for kind in ("memory", "journal"):
        path = folder / "sleeping" if kind == "journal" else None
        name = f"{kind}, 64 at once, a state of 200 ms (of 320)"
        await measure(name, total * 8 // 5, 64, path, sleeping=True)


async def maps() -> None:
    """The lines of Maps; 10,000 items inline would pass the 25,000 events of a history."""
    await measure_map(1_000, distributed=False)
    await measure_map(1_000, distributed=True)
    await measure_map(10_000, distributed=True)


def main(arguments: argparse.Namespace) -> None:
    """Print the table."""
    total = 400 if arguments.quick else 2_000
    processes = multiprocessing.get_context("spawn")
    load = ", ".join(f"{part:.2f}" for part in os.getloadavg())
    say(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load};"
        f" Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        measure_disk(folder / "disk")
        # Before this process has grown: a child starts from the size of its parent.
        for path in (None, folder / "growth"):
            child = processes.Process(
                target=grow, args=(1_000 if arguments.quick else 20_000, path)
            )
            child.start()
            child.join()
        asyncio.run(speeds(total, folder))
        asyncio.run(maps())
        measure_start(name)
        for path in (None, folder / "profile"):
            asyncio.run(profile(total * 3, path))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth, and growth to 1,000 only")
    parser.add_argument("--folder", help="where the journals go; the system's own unless given")
    collect_less()  # as the process that serves the engine does
    main(parser.parse_args())
