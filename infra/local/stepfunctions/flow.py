"""How strands move: into states, out of them, through Retry and Catch, and to their end."""

from typing import Any

from local.constants import PAYLOAD_BYTES, VARIABLE_BYTES, VARIABLES_BYTES
from local.stepfunctions.errors import (
    DATA_LIMIT,
    RUNTIME,
    EvaluationError,
    StatesError,
)
from local.stepfunctions.expressions import Scope
from local.stepfunctions.jsontext import Json, dumps
from local.stepfunctions.retries import matches
from local.stepfunctions.run import Run, Status, Strand
from local.stepfunctions.states.base import Catcher, Exit, State


def enter(run: Run, strand: Strand, name: str, given: Json) -> None:
    """Enter a state and let it begin."""
    state = strand.program.states[name]
    strand.state = state
    strand.input = given
    strand.entered_at = run.now
    strand.before = strand.last
    strand.map_run = None
    strand.attempts = {}
    strand.retries = 0
    strand.token = None
    details = {"name": name, "input": given.text}
    strand.entered_id = run.record(strand, state.entered, details)
    begin(run, strand)


def begin(run: Run, strand: Strand) -> None:
    """Begin an attempt of the strand's state: the first, or a retry."""
    strand.token = None
    try:
        current(strand).enter(run, strand)
    except StatesError as error:
        fail(run, strand, error)


def current(strand: Strand) -> State:
    """The state the strand is in."""
    if strand.state is None:
        raise AssertionError("the strand has entered no state")
    return strand.state


def leave(run: Run, strand: Strand, scope: Scope, default: Json, way: Exit | None = None) -> None:
    """Leave the state: set its variables, record its output, go on.

    Args:
        run: the execution.
        strand: where.
        scope: what Assign and Output see; both see the values from before the assignment.
        default: the output where the way out has none of its own.
        way: a way out other than the state's own, of a Choice rule or a Catch.

    Raises:
        StatesError: an expression failed or a limit was passed.
    """
    state = current(strand)
    way = way or state.exit
    assigned = None if way.assign is None else way.assign(scope)
    output = default if way.output is None else Json(way.output(scope))
    _hold_limits(state, strand, output, assigned)
    details: dict[str, Any] = {"name": state.name, "output": output.text}
    if assigned:
        details["assignedVariables"] = assigned
        strand.variables = {**strand.variables, **assigned}
    run.record(strand, state.exited, details)
    strand.state = None
    strand.spent = None
    if way.next is not None:
        run.ready.append((strand, way.next, output))
    else:
        finish(run, strand, output)


def _hold_limits(
    state: State, strand: Strand, output: Json, assigned: dict[str, Any] | None
) -> None:
    if output.exceeds(PAYLOAD_BYTES):
        raise StatesError(DATA_LIMIT, too_large(state.name))
    if not assigned:
        return
    for name, value in assigned.items():
        if Json(value).exceeds(VARIABLE_BYTES):
            cause = (
                f"The size of the variable '{name}' exceeds the limit of {VARIABLE_BYTES} bytes."
            )
            raise StatesError(DATA_LIMIT, cause)
    if len(strand.variables) + len(assigned) > VARIABLES_BYTES // VARIABLE_BYTES:
        together = {**strand.variables, **assigned}
        if len(dumps(together).encode()) > VARIABLES_BYTES:
            cause = f"The size of all variables exceeds the limit of {VARIABLES_BYTES} bytes."
            raise StatesError(DATA_LIMIT, cause)


def too_large(what: str) -> str:
    """AWS's sentence for a result above 256 KiB."""
    return (
        f"The state/task '{what}' returned a result with a size exceeding"
        " the maximum number of bytes service limit."
    )


def finish(run: Run, strand: Strand, output: Json) -> None:
    """A strand has come to its end."""
    if strand.parent is not None:
        try:
            strand.parent.child_finished(run, strand, output)
        except StatesError as error:
            fail(run, strand.parent.strand, error)
        return
    close(run, Status.SUCCEEDED, "ExecutionSucceeded", {"output": output.text}, strand.last)
    run.output = output


def fail(run: Run, strand: Strand, error: StatesError) -> None:
    """The strand's state failed: retry it, catch the error, or give it to who waits."""
    state = current(strand)
    if strand.fan is not None:
        strand.fan.abort(run)
        strand.spent, strand.fan = strand.fan, None
    error = _explained(run, strand, error)
    if _retry(run, strand, state, error):
        return
    if state.fails_with_event:
        run.record(strand, f"{state.kind}StateFailed", {})
    catcher = _catcher(state, error)
    if catcher is not None:
        try:
            _catch(run, strand, catcher, error)
        except StatesError as problem:
            error = _explained(run, strand, problem)
        else:
            return
    give_up(run, strand, error)


def give_up(run: Run, strand: Strand, error: StatesError) -> None:
    """End the strand with an error that nobody caught in it."""
    if strand.parent is not None:
        strand.parent.child_failed(run, strand, error)
        return
    run.error, run.cause = error.error, error.cause
    details = {"error": error.error, "cause": error.cause}
    shown = {key: value for key, value in details.items() if value is not None}
    close(run, Status.FAILED, "ExecutionFailed", shown, strand.last)


def close(run: Run, status: Status, kind: str, details: dict[str, Any], previous: int) -> None:
    """End the execution: nothing it started is waited for any longer."""
    run.status = status
    run.stopped = run.now
    run.ready.clear()
    for task in list(run.tasks.values()):
        run.abandon_task(task)
    for timer in list(run.timers):
        run.cancel_timer(timer)
    run.note(kind, details, previous)


def abort(run: Run, strand: Strand) -> None:
    """Stop a strand whose result nobody wants, recording the states it was in."""
    if strand.state is None:
        return
    if strand.fan is not None:
        strand.fan.abort(run)
        strand.spent, strand.fan = strand.fan, None
    if strand.task is not None:
        run.abandon_task(strand.task)
    run.cancel_timer(strand.timer)
    strand.timer = None
    if strand.state.kind in ("Task", "Wait", "Map", "Parallel"):
        run.note(f"{strand.state.kind}StateAborted", {}, strand.last)


def _explained(run: Run, strand: Strand, error: StatesError) -> StatesError:
    """The error with AWS's opening words, recorded where it came from an expression."""
    if not isinstance(error, EvaluationError) and error.error != RUNTIME:
        return error
    opening = (
        f"An error occurred while executing the state '{current(strand).name}'"
        f" (entered at the event id #{strand.entered_id}). "
    )
    cause = error.cause or ""
    if not cause.startswith(opening):
        cause = opening + cause
    if isinstance(error, EvaluationError):
        _record_evaluation(run, strand, error, cause)
    return StatesError(error.error, cause)


def _record_evaluation(run: Run, strand: Strand, error: EvaluationError, cause: str) -> None:
    details = {"error": error.error, "cause": cause, "state": current(strand).name}
    if error.location is not None:
        details["location"] = error.location
    follows_entry = strand.last == strand.entered_id and not error.after_entry
    run.record(strand, "EvaluationFailed", details, strand.before if follows_entry else None)


def _retry(run: Run, strand: Strand, state: State, error: StatesError) -> bool:
    for number, retrier in enumerate(state.retriers):
        if not matches(retrier.errors, error.error):
            continue
        done = strand.attempts.get(number, 0)
        if done >= retrier.max_attempts:
            return False
        random = run.ambience.random() if retrier.jitter else None
        strand.attempts[number] = done + 1
        strand.retries += 1
        strand.spent = None
        delay = round(retrier.delay(done, random) * 1000)
        strand.timer = run.set_timer(strand, run.now + delay, _try_again)
        return True
    return False


def _try_again(run: Run, strand: Strand) -> None:
    strand.timer = None
    begin(run, strand)


def _catcher(state: State, error: StatesError) -> Catcher | None:
    for catcher in state.catchers:
        if matches(catcher.errors, error.error):
            return catcher
    return None


def _catch(run: Run, strand: Strand, catcher: Catcher, error: StatesError) -> None:
    output = error.output()
    scope = run.scope(strand, errorOutput=output)
    leave(run, strand, scope, Json(output), catcher.exit)
