"""Worker processes that are invoked like Lambda functions, killed and frozen meanwhile."""

import contextlib
import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from local.constants import REGION

ROOT: Final = Path(__file__).parents[2]


class Failed(Exception):  # noqa: N818  # as States.TaskFailed
    """What a state sees of an invocation that failed.

    Attributes:
        error: its name, as ErrorEquals matches it.
    """

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error


@dataclass(frozen=True, eq=False)
class Process:
    """One worker process."""

    popen: "subprocess.Popen[str]"

    def ask(self, task: Mapping[str, Any]) -> None:
        """Send it an invocation; to a dead one it does not matter."""
        assert self.popen.stdin is not None
        with contextlib.suppress(OSError):
            self.popen.stdin.write(json.dumps(task) + "\n")
            self.popen.stdin.flush()

    def listen(self) -> str:
        """The next line that it says, "" when it is dead."""
        assert self.popen.stdout is not None
        return self.popen.stdout.readline()


class Pool:
    """So many workers; a dead one is replaced.

    Attributes:
        killed: workers killed with kill -9.
        frozen: workers stopped for longer than a lease, then let go on.
        crashed: what workers that ended by themselves said.
    """

    def __init__(self, count: int, endpoint: str, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(
                str(ROOT / each) for each in ("functions", "infra", "tests")
            ),
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
        }
        self._idle: queue.Queue[Process] = queue.Queue()
        self._all: set[Process] = set()
        self._lock = threading.Lock()
        self._busy: dict[int, Process] = {}
        self._closed = False
        self.killed, self.frozen = 0, 0
        self.crashed: list[str] = []
        for _ in range(count):
            self._idle.put(self._spawn())

    def invoke(self, task: Mapping[str, Any], seconds: float) -> Any:
        """Have a worker do it.

        Raises:
            Failed: under the error's name; `Runtime.ExitError` when the worker died, and
                `Sandbox.Timedout` when it said nothing for so long, dead or not.
        """
        process = self._idle.get(timeout=60)
        answered: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._work, args=(process, task, answered), daemon=True).start()
        try:
            line = answered.get(timeout=seconds)
        except queue.Empty:
            raise Failed("Sandbox.Timedout") from None
        if not line:
            raise Failed("Runtime.ExitError")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"], answer["cause"])
        return answer["result"]

    @contextlib.contextmanager
    def disturbed(self, dice: random.Random, every: float, freeze: float) -> Iterator[None]:
        """Kill or freeze a busy worker again and again while the block runs."""
        done = threading.Event()

        def disturb() -> None:
            while not done.wait(dice.uniform(0, 2 * every)):
                with self._lock:
                    busy = sorted(self._busy)
                    chosen = self._busy[dice.choice(busy)] if busy else None
                if chosen is None:
                    continue
                if dice.random() < 0.5:
                    self.killed += self._signalled(chosen, signal.SIGKILL)
                else:
                    threading.Thread(target=self._freeze, args=(chosen, freeze)).start()

        thread = threading.Thread(target=disturb, name="disturb")
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def close(self) -> None:
        """End every worker."""
        with self._lock:
            self._closed = True
            every = list(self._all)
        for process in every:
            self._signalled(process, signal.SIGKILL)
        for process in every:
            process.popen.wait()
            _close(process)

    def _work(
        self, process: Process, task: Mapping[str, Any], answered: "queue.Queue[str]"
    ) -> None:
        pid = process.popen.pid
        with self._lock:
            self._busy[pid] = process
        process.ask(task)
        line = process.listen()
        with self._lock:
            self._busy.pop(pid, None)
        answered.put(line)
        if line:
            self._idle.put(process)
            return
        self._bury(process, task)

    def _bury(self, process: Process, task: Mapping[str, Any]) -> None:
        code = process.popen.wait()
        with self._lock:
            closed = self._closed
            if not closed:
                self._all.discard(process)
        if closed:
            return
        if code != -signal.SIGKILL:
            assert process.popen.stderr is not None
            self.crashed.append(f"{task['do']}: exit {code}: {process.popen.stderr.read()[-800:]}")
        _close(process)
        self._idle.put(self._spawn())

    def _freeze(self, process: Process, seconds: float) -> None:
        if self._signalled(process, signal.SIGSTOP):
            self.frozen += 1
            time.sleep(seconds)
            self._signalled(process, signal.SIGCONT)

    def _signalled(self, process: Process, number: signal.Signals) -> bool:
        if process.popen.poll() is not None:
            return False
        process.popen.send_signal(number)
        return True

    def _spawn(self) -> Process:
        command = [sys.executable, "-m", "prove.gate_worker", json.dumps(self._settings)]
        popen = subprocess.Popen(
            command,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        process = Process(popen)
        with self._lock:
            self._all.add(process)
        return process


def _close(process: Process) -> None:
    for pipe in (process.popen.stdin, process.popen.stdout, process.popen.stderr):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
