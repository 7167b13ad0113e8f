"""The step of the engine: an execution and something that happened, to events and commands.

Nothing here reads a clock, draws a random number that the execution's seed does not decide,
or touches the world: the same happenings at the same moments give the same history.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from local.constants import HISTORY_EVENTS
from local.stepfunctions.commands import (
    Command,
    Incoming,
    Redriven,
    Started,
    Stopped,
    TaskFailed,
    TaskHeartbeat,
    TaskSubmitted,
    TaskSucceeded,
    TimerFired,
    WorkerStarted,
)
from local.stepfunctions.errors import RUNTIME, StatesError
from local.stepfunctions.flow import close, enter
from local.stepfunctions.redrive import redrive, set_machine_timeout
from local.stepfunctions.run import HistoryFullError, Run, Status
from local.stepfunctions.run import Task as Attempt
from local.stepfunctions.states.answered import Answered

_log = logging.getLogger(__name__)


def advance(run: Run, incoming: Incoming, now: int) -> list[Command]:
    """Let something happen to an execution.

    Args:
        run: the execution; its history grows.
        incoming: what happened.
        now: when, in milliseconds.

    Returns:
        What the execution asks of the world. Events are those added to `run.history`.
    """
    if not run.open and not isinstance(incoming, Redriven):
        return []
    run.now = now
    run.ambience.moment = now
    try:
        _HANDLERS[type(incoming)](run, incoming)
        while run.ready:
            strand, name, given = run.ready.popleft()
            enter(run, strand, name, given)
    except HistoryFullError:
        cause = f"The execution reached the maximum number of history events ({HISTORY_EVENTS})."
        _end(run, cause)
    except Exception as defect:  # noqa: BLE001 - one execution must not stop all others
        _log.exception("an execution broke", extra={"execution": run.identity.arn})
        _end(run, f"{type(defect).__name__}: {defect}")
    commands, run.commands = run.commands, []
    return commands


def _start(run: Run, _: Started) -> None:
    details: dict[str, Any] = {"input": run.input.text, "roleArn": run.identity.role_arn}
    if run.identity.alias_arn is not None:
        details["stateMachineAliasArn"] = run.identity.alias_arn
    if run.identity.version_arn is not None:
        details["stateMachineVersionArn"] = run.identity.version_arn
    # AWS gives the first state entered no previous event.
    run.note("ExecutionStarted", details, 0)
    set_machine_timeout(run)
    program = run.machine.program
    run.ready.append((run.root, program.start_at, run.input))


def _submit(run: Run, incoming: TaskSubmitted) -> None:
    found = _task(run, incoming.task)
    if found is not None:
        state, attempt = found
        state.submitted(run, attempt.strand, incoming.output)


def _succeed(run: Run, incoming: TaskSucceeded) -> None:
    found = _task(run, incoming.task)
    if found is not None:
        state, attempt = found
        state.succeeded(run, attempt.strand, incoming.output)


def _fail(run: Run, incoming: TaskFailed) -> None:
    found = _task(run, incoming.task)
    if found is not None:
        state, attempt = found
        state.failed(run, attempt.strand, StatesError(incoming.error, incoming.cause))


def _beat(run: Run, incoming: TaskHeartbeat) -> None:
    found = _task(run, incoming.task)
    if found is not None:
        state, attempt = found
        state.alive(run, attempt.strand)


def _take(run: Run, incoming: WorkerStarted) -> None:
    found = _task(run, incoming.task)
    if found is not None:
        state, attempt = found
        state.started_by(run, attempt.strand, incoming.worker)


def _task(run: Run, number: int) -> tuple[Answered, Attempt] | None:
    attempt = run.tasks.get(number)
    if attempt is None or not isinstance(attempt.strand.state, Answered):
        return None
    return attempt.strand.state, attempt


def _fire(run: Run, incoming: TimerFired) -> None:
    found = run.timers.pop(incoming.timer, None)
    if found is None:
        return
    strand, fired = found
    if strand is None or fired is None:
        close(run, Status.TIMED_OUT, "ExecutionTimedOut", {}, 0)
    else:
        fired(run, strand)


def _stop(run: Run, incoming: Stopped) -> None:
    run.error, run.cause = incoming.error, incoming.cause
    named = {"error": incoming.error, "cause": incoming.cause}
    details = {key: value for key, value in named.items() if value is not None}
    close(run, Status.ABORTED, "ExecutionAborted", details, 0)


def _end(run: Run, cause: str) -> None:
    run.error, run.cause = RUNTIME, cause
    details = {"error": RUNTIME, "cause": cause}
    close(run, Status.FAILED, "ExecutionFailed", details, run.root.last)


_HANDLERS: Final[dict[type, Callable[..., None]]] = {
    Redriven: redrive,
    Started: _start,
    Stopped: _stop,
    TaskFailed: _fail,
    TaskHeartbeat: _beat,
    TaskSubmitted: _submit,
    TaskSucceeded: _succeed,
    TimerFired: _fire,
    WorkerStarted: _take,
}
