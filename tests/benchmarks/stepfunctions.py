"""How fast the engine is: `python tests/benchmarks/stepfunctions.py` prints a table.

A linear machine of 6 Task states whose in-process handlers return 1 KB of JSON each.
"""

import argparse
import asyncio
import gc
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from local.invoke import InvokeResult
from local.memory import collect_less
from local.stepfunctions.engine import Engine
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.journal import Journal

PAYLOAD: Final = json.dumps({f"field-{n:02}": "x" * 20 for n in range(28)}).encode()
STATES: Final = 6


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


def report(name: str, total: int, seconds: float, cpu: float, times: list[float]) -> None:
    """Print one line of the table."""
    times.sort()
    p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
    sys.stdout.write(
        f"{name:44} {total / seconds:8.0f}/s  p50 {p50 * 1000:7.2f} ms"
        f"  p95 {p95 * 1000:7.2f} ms  cpu {cpu / total * 1e6:6.0f} us\n"
    )
    sys.stdout.flush()


async def measure(
    name: str, total: int, at_once: int, *, journal: Path | None = None, sleeping: bool = False
) -> float:
    """One line: executions a second of the linear machine; returns them."""
    kept = None if journal is None else Journal(journal)
    engine = Engine(Integrations(Handlers()), seed=1, journal=kept)
    arn = engine.create_state_machine(name="linear", definition=linear(sleeping=sleeping))
    await drive(engine, arn, 50, at_once)
    gc.collect()
    cpu, began = time.process_time(), time.perf_counter()
    times = await drive(engine, arn, total, at_once)
    seconds, used = time.perf_counter() - began, time.process_time() - cpu
    report(name, total, seconds, used, times)
    await engine.close()
    if kept is not None:
        kept.close()
    return total / seconds


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


def memory() -> float:
    """The largest resident size so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def main(arguments: argparse.Namespace) -> None:
    """Print the table."""
    total = arguments.executions
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for at_once in (1, 16, 64):
            await measure(f"memory, {at_once} at once", total, at_once)
        for at_once in (1, 16, 64):
            path = Path(folder) / f"journal-{at_once}.db"
            await measure(f"journal, {at_once} at once", total, at_once, journal=path)
        await measure("memory, 64 at once, one state of 200 ms", 1280, 64, sleeping=True)
        path = Path(folder) / "sleeping.db"
        name = "journal, 64 at once, one state of 200 ms"
        await measure(name, 1280, 64, journal=path, sleeping=True)
        # An inline Map of 10,000 items would pass the 25,000 events of a history.
        await measure_map(1_000, distributed=False)
        await measure_map(1_000, distributed=True)
        await measure_map(10_000, distributed=True)
        for size in (100, 1_000, 5_000, 20_000) if arguments.growth else ():
            path = Path(folder) / f"growth-{size}.db"
            await measure(f"journal, 64 at once, {size} executions", size, 64, journal=path)
            sys.stdout.write(f"{'':44} largest resident size {memory():.0f} MB\n")
            path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=2000)
    parser.add_argument("--growth", action="store_true", help="also 100 to 20,000 executions")
    parser.add_argument("--folder", help="where the journals go; the system's own unless given")
    collect_less()  # as the process that serves the engine does
    asyncio.run(main(parser.parse_args()))
