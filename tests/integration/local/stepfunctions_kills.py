"""Kills the engine with kill -9 at random moments and checks that it lost and repeated nothing."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

from local.stepfunctions.engine import Engine
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.journal import Journal

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
EXECUTIONS: Final = 100
STEPS: Final = {"s0": 0, "s1": 1, "item-0": 2, "item-1": 2, "item-2": 2, "s3": 3}


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start the engine's process."""
    paths = os.pathsep.join(str(ROOT / name) for name in ("functions", "infra", "tests"))
    environment = {**os.environ, "PYTHONPATH": paths}
    program = [sys.executable, str(HERE / "stepfunctions_process.py"), str(folder)]
    return subprocess.Popen(program, env=environment)


def lines(folder: Path) -> list[str]:
    """What the tasks noted so far."""
    notes = folder / "notes"
    return notes.read_text().splitlines() if notes.exists() else []


def kill_at(process: subprocess.Popen[bytes], folder: Path, noted: int) -> bool:
    """Kill the process once so many lines are noted; False when it ended before."""
    while process.poll() is None:
        if len(lines(folder)) >= noted:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.002)
    return False


def kill_and_finish(folder: Path, rounds: int) -> None:
    """Kill the engine so often with 100 executions in flight, let it finish, check them all."""
    generator = random.Random(20261201)  # noqa: S311 - the moments must be the same each time
    for _ in range(rounds):
        noted = len(lines(folder)) + generator.randrange(5, 60)
        process = start(folder)
        assert kill_at(process, folder, noted), "the work was too short for so many kills"
    process = start(folder)
    try:
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
        process.wait()
    journal = Journal(folder / "journal.db")
    engine = Engine(Integrations(), journal=journal)
    machine = engine.machines.get(engine.names.machine("kill"))
    shapes = engine.summaries(machine)
    assert [shape["status"] for shape in shapes] == ["SUCCEEDED"] * EXECUTIONS
    began = [line.split()[1:] for line in lines(folder) if line.startswith("began ")]
    assert len({(run, step) for run, step in began}) == EXECUTIONS * len(STEPS)
    check_order(began)
    for shape in shapes:
        check_history(engine, shape["executionArn"])
    journal.close()


def check_order(began: list[list[str]]) -> None:
    """No task begins again once a later state of its execution has begun."""
    reached: dict[str, int] = {}
    for run, step in began:
        place = STEPS[step]
        assert place >= reached.get(run, 0), f"{run} ran {step} again"
        reached[run] = place


def check_history(engine: Engine, arn: str) -> None:
    """Every state is in the history exactly once."""
    events = engine.history(arn)
    entered = Counter(e.details["name"] for e in events if e.type.endswith("StateEntered"))
    assert entered == {"S0": 1, "Short": 1, "S1": 1, "Items": 1, "Each": 3, "S3": 1}
    types = Counter(event.type for event in events)
    assert types["TaskScheduled"] == types["TaskSucceeded"] == len(STEPS)
    assert types["ExecutionStarted"] == types["ExecutionSucceeded"] == 1
