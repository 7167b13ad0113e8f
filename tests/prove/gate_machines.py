"""Executions as Step Functions runs them, in small: admit, wait, call, retry, redrive.

Waits are in proportion to the lease, and what can be seen of a worker is what a state sees.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from prove.gate_outside import Outside
from prove.gate_pool import Failed, Pool

TRANSIENT: Final = frozenset({"DependencyUnavailable", "ModelUnavailable"})
BOUNDED: Final = frozenset(
    {"Runtime.ExitError", "Sandbox.Timedout", "ModelTimedOut", "ModelFaulted"}
)
KNOWN: Final = frozenset({"OutcomeUnknown", "BudgetExceeded", "RunStopped", "AdmissionLost"})
"""With these an execution may end; with any other something is wrong."""
PATIENCE: Final = 60.0
"""Seconds after which a token that is not answered counts as forgotten."""


@dataclass
class Machine:
    """One run: branches that make calls one after the other, redriven when it failed.

    Attributes:
        answers: what each call answered.
        failures: the errors that executions ended with, redrive by redrive.
        wrong: sentences about what must not happen.
    """

    name: str
    tenant: str
    ceiling: int
    on_budget: str
    worst: int
    branches: int
    calls: int
    lease: float
    pool: Pool
    outside: Outside
    redrives: int = 2
    redrive: int = 0
    answers: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def root(self) -> str:
        """The run's root, which is its execution's name too."""
        return f"answer-question:{self.name}"

    def run(self) -> None:
        """Open the run, make its calls, close it; redrive it while it fails and may be."""
        self._insist({"do": "open", "ceiling": self.ceiling, "on_budget": self.on_budget})
        while True:
            self.outside.running[self.root] = self.redrive
            error = self._execution()
            self.outside.running[self.root] = None
            self._insist(
                {
                    "do": "close",
                    "status": "FAILED" if error else "SUCCEEDED",
                    "redrive": self.redrive,
                }
            )
            if error is None or self.redrive == self.redrives:
                return
            self.failures.append(error)
            self.redrive += 1

    def _execution(self) -> str | None:
        """The error that one execution ended with: the first one of its branches."""
        failed: list[str] = []

        def branch(number: int) -> None:
            for call in range(self.calls):
                path = f"{self.root}/Branch/{call}/{number}/0"
                if path in self.answers or failed:
                    continue
                try:
                    self.answers[path] = self._guarded(path, lambda: bool(failed))
                except Failed as error:
                    failed.append(error.error)
                    if error.error not in KNOWN | TRANSIENT | BOUNDED | {"CallInProgress"}:
                        self.wrong.append(f"{path}: {error}")

        threads = [threading.Thread(target=branch, args=(n,)) for n in range(self.branches)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return failed[0] if failed else None

    def _guarded(self, path: str, stopped: Callable[[], bool]) -> str:
        """ask-model: admitted, called, and admitted again where that is what the error says."""
        again = 0
        while True:
            self._admitted(path, stopped)
            try:
                answer = self._retried({"do": "call", "call": path}, self.lease * 0.9)
            except Failed as error:
                again += 1
                if error.error not in ("AdmissionLost", "ModelThrottled") or again > 12:
                    raise
                time.sleep(0.1)
            else:
                text: str = answer["text"]
                return text

    def _admitted(self, path: str, stopped: Callable[[], bool]) -> None:
        entered = f"{time.time():020.6f}"
        tries = [0]

        def asked() -> Any:
            tries[0] += 1
            since = f"{entered}/{tries[0]:03}"
            token = self.outside.token(f"{path} {since}")
            task = {"do": "admit", "call": path, "token": token.name, "since": since}
            try:
                self._invoke(task, self.lease * 0.9)
                self._waited(token, path, stopped)
            finally:
                self.outside.forget(token)

        self._retry(asked)

    def _waited(self, token: Any, path: str, stopped: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not token.answered.wait(0.2):
            if stopped():
                raise Failed("RunStopped", "another branch failed")
            if time.monotonic() > until:
                self.wrong.append(f"{path}: nobody answered its token")
                raise Failed("RunStopped", "forgotten")
        if token.error is not None:
            raise Failed(token.error)

    def _retried(self, task: Mapping[str, Any], seconds: float) -> Any:
        return self._retry(lambda: self._invoke(task, seconds))

    def _retry(self, attempt: Callable[[], Any]) -> Any:
        left = {"transient": 5, "bounded": 2, "in progress": 30}
        while True:
            try:
                return attempt()
            except Failed as error:
                policy = _policy(error.error)
                if policy is None or not left[policy]:
                    raise
                left[policy] -= 1
                time.sleep(self.lease / 4 if policy == "in progress" else 0.05)

    def _insist(self, task: Mapping[str, Any]) -> Any:
        """Again and again, as an asynchronous invocation or an operator would."""
        for _ in range(50):
            try:
                return self._invoke(task, 10)
            except Failed as error:
                if error.error not in TRANSIENT | BOUNDED:
                    raise
        raise AssertionError(f"{self.root}: {task['do']} never went through")

    def _invoke(self, task: Mapping[str, Any], seconds: float) -> Any:
        run = {
            "id": self.name,
            "root": self.root,
            "workflow": "answer-question",
            "tenant": self.tenant,
        }
        whole = {**task, "run": run, "worst": self.worst}
        return self.pool.invoke({"redrive": self.redrive, **whole}, seconds)


def _policy(error: str) -> str | None:
    if error in TRANSIENT:
        return "transient"
    if error in BOUNDED:
        return "bounded"
    return "in progress" if error == "CallInProgress" else None
