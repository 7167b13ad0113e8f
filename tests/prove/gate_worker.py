"""One worker process behind the gate: real library, real boto3, told what to do line by line.

It reads invocations from its standard input, one JSON document a line, and answers each with a
line. It knows nothing of the other workers, and may be killed or frozen at any moment.
"""

import hashlib
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from autoops import closing
from autoops.adapters import admission_items, admissions, money
from autoops.adapters.admissions import DynamoAdmissions
from autoops.adapters.aws import client
from autoops.adapters.clock import SystemClock
from autoops.adapters.dynamodb import DynamoLedger
from autoops.adapters.expressions import update
from autoops.adapters.keys import run_key, slot_key
from autoops.adapters.s3 import S3Artifacts
from autoops.adapters.table import Table
from autoops.calls import PaidCalls
from autoops.closing import Closing
from autoops.domain.admissions import AdmissionState, Asker, CallClaim, Limit
from autoops.domain.contracts import Json, Run, to_json
from autoops.domain.ledger import OnBudget, OpenedRun
from autoops.domain.model import ModelReply
from autoops.domain.pricing import Usage
from autoops.errors import (
    AutoOpsError,
    ModelFaulted,
    ModelThrottled,
    ModelTimedOut,
    ModelUnavailable,
)
from autoops.gate import Gate
from autoops.operations import Operations

TABLE: Final = "Ledger"
BUCKET: Final = "answers"
MODEL: Final = "amazon.nova-lite-v1:0"
PATIENCE: Final = timedelta(seconds=1)
REFUSALS: Final[Mapping[int, type[AutoOpsError]]] = {
    429: ModelThrottled,
    500: ModelFaulted,
    503: ModelUnavailable,
}


class Outside:
    """What lies beyond the ledger, over HTTP: the provider, the executions, the event bus."""

    def __init__(self, url: str) -> None:
        self._url = url

    def call_model(self, call: str) -> ModelReply:
        """Ask the provider once."""
        try:
            said = self._post("/model", {"call": call})
        except urllib.error.HTTPError as refused:
            raise REFUSALS[refused.code](f"the provider answered {refused.code}") from refused
        except OSError as broken:
            raise ModelTimedOut(f"the provider hung up: {type(broken).__name__}") from broken
        usage = Usage(input=said["input"], output=said["output"])
        return ModelReply(stop_reason="end_turn", text=said["text"], usage=usage)

    def succeed(self, token: str, output: Json) -> bool:
        """See `Workflows.succeed`."""
        del output
        return bool(self._post("/token", {"token": token, "error": None}))

    def fail(self, token: str, error: str, cause: str) -> bool:
        """See `Workflows.fail`."""
        del cause
        return bool(self._post("/token", {"token": token, "error": error}))

    def redrive_running(self, execution: str) -> int | None:
        """See `Workflows.redrive_running`."""
        redrive: int | None = self._post("/running", {"execution": execution})
        return redrive

    def stop(self, execution: str, error: str, cause: str) -> None:
        """See `Workflows.stop`."""
        raise NotImplementedError

    def redrive(self, execution: str) -> None:
        """See `Workflows.redrive`."""
        raise NotImplementedError

    def publish(self, kind: str, detail: Json) -> None:
        """See `Events.publish`."""
        del kind, detail

    def _post(self, path: str, content: Json) -> Any:
        request = urllib.request.Request(self._url + path, to_json(content).encode())  # noqa: S310  # loopback
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310  # loopback
            return json.load(answer)


class Worker:
    """The functions that a machine invokes, as one process runs them."""

    def __init__(self, outside: str, lease: float, concurrency: int) -> None:
        self._outside = Outside(outside)
        table = Table(client("dynamodb"), TABLE)
        self._artifacts = S3Artifacts(client("s3"), BUCKET)
        self._gate = Gate(
            DynamoAdmissions(table, {MODEL: Limit(concurrency=concurrency)}),
            DynamoLedger(table),
            self._outside,
            self._outside,
            SystemClock(),
            timedelta(seconds=lease),
        )
        self._operations = Operations(self._gate, account_ceiling=10**12)

    def handle(self, task: Mapping[str, Any]) -> Json:
        """Do what one invocation asks for."""
        work: Callable[[Mapping[str, Any]], Json] = getattr(self, task["do"])
        return work(task)

    def open(self, task: Mapping[str, Any]) -> Json:
        """Open a run."""
        run = _run(task)
        self._gate.ledger.open_run(
            OpenedRun(
                run=run,
                execution=run.root,
                ceiling=task["ceiling"],
                opened_at=self._gate.clock.now(),
                on_budget=OnBudget(task["on_budget"]),
            )
        )
        return True

    def admit(self, task: Mapping[str, Any]) -> Json:
        """Ask for a call; its token is answered when it is let in."""
        run = _run(task)
        asker = Asker(
            execution=run.root, redrive=task["redrive"], token=task["token"], since=task["since"]
        )
        admission = self._gate.ask(run, _claim(task), asker)
        if admission.state is not AdmissionState.WAITING:
            self._gate.tell(admission)
        return str(admission.state)

    def call(self, task: Mapping[str, Any]) -> Json:
        """Make the call at most once."""
        calls = PaidCalls(_run(task), self._gate, self._artifacts)
        reply, record = calls.make(_claim(task), lambda: self._outside.call_model(task["call"]))
        return {"text": reply.text, "attempt": record.attempt}

    def sweep(self, task: Mapping[str, Any]) -> Json:
        """What the schedule does."""
        del task
        return Closing(self._gate, self._artifacts).sweep()

    def close(self, task: Mapping[str, Any]) -> Json:
        """What the end of an execution does."""
        root, now = _run(task).root, self._gate.clock.now()
        self._gate.ledger.close_run(root, task["status"], None, now, task["redrive"])
        return Closing(self._gate, self._artifacts).close(root)

    def pause(self, task: Mapping[str, Any]) -> Json:
        """Pause a run."""
        self._operations.pause(_run(task).root)
        return True

    def resume(self, task: Mapping[str, Any]) -> Json:
        """Resume a run."""
        return self._operations.resume(_run(task).root)

    def raise_budget(self, task: Mapping[str, Any]) -> Json:
        """Give a run more money."""
        return self._operations.raise_budget(_run(task).root, task["by"])


def _run(task: Mapping[str, Any]) -> Run:
    return Run.model_validate(task["run"])


def _claim(task: Mapping[str, Any]) -> CallClaim:
    call = task["call"]
    fingerprint = hashlib.sha256(call.encode()).hexdigest()
    return CallClaim(call=call, fingerprint=fingerprint, model=MODEL, worst=task["worst"])


# --- Bugs that a proof has to find ----------------------------------------------------------------


def _money_is_not_checked() -> None:
    def reserve(run: Run, worst: int) -> Any:
        return update(
            run_key(run.purse, "BUDGET"),
            "SET #available = #available - :worst, #reserved = #reserved + :worst",
            worst=worst,
        )

    money.reserve = reserve


def _slots_are_not_checked() -> None:
    def slot_taken(model: str, shard: int, slots: int) -> Any:
        del slots
        change = "SET #held = if_not_exists(#held, :zero) + :one"
        return update(slot_key(model, shard), change, "", zero=0, one=1)

    admission_items.slot_taken = slot_taken


def _a_call_under_way_is_begun_again() -> None:
    granted = "#state = :granted AND #fingerprint = :fingerprint"

    def changed(key: Any, change: str, when: str = "attribute_exists(PK)", **values: Any) -> Any:
        if when == granted:
            when = "#state IN (:granted, :calling) AND #fingerprint = :fingerprint"
        return update(key, change, when, **values)

    admissions.update = changed  # type: ignore[attr-defined]  # what the adapter imports


BUGS: Final[Mapping[str, Callable[[], None]]] = {
    "money": _money_is_not_checked,
    "slots": _slots_are_not_checked,
    "begun": _a_call_under_way_is_begun_again,
}


def main() -> None:
    """Answer invocations until nobody asks any more."""
    given = json.loads(sys.argv[1])
    closing.PATIENCE = PATIENCE  # type: ignore[misc]  # a minute is long in a test
    if given["bug"]:
        BUGS[given["bug"]]()
    worker = Worker(given["outside"], given["lease"], given["concurrency"])
    for line in sys.stdin:
        try:
            answer: Json = {"result": worker.handle(json.loads(line))}
        except AutoOpsError as error:
            answer = {"error": type(error).__name__, "cause": str(error)}
        sys.stdout.write(to_json(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
