"""Redrive: a failed, stopped or timed-out execution goes on where it was, with fresh retries."""

from local.constants import EXPRESS_SECONDS
from local.stepfunctions.commands import Redriven
from local.stepfunctions.flow import begin
from local.stepfunctions.run import Run, Status, Strand


def redrive(run: Run, _: Redriven) -> None:
    """Start the strands that did not end; what was completed stays completed."""
    last = run.history[-1].id
    run.status = Status.RUNNING
    run.stopped = None
    run.error = run.cause = None
    run.redrives += 1
    run.redriven = run.now
    came_from = run.note("ExecutionRedriven", {"redriveCount": run.redrives}, last)
    set_machine_timeout(run)
    _revive(run, run.root, came_from)


def set_machine_timeout(run: Run) -> None:
    """Start the machine's own timeout, counted from now; Express ends after five minutes."""
    seconds = run.machine.timeout_seconds
    if run.identity.express:
        seconds = min(seconds or EXPRESS_SECONDS, EXPRESS_SECONDS)
    if seconds is not None:
        run.set_timer(None, run.now + round(seconds * 1000), None)


def _revive(run: Run, strand: Strand, came_from: int) -> None:
    fan = strand.fan or strand.spent
    strand.task = None
    strand.timer = None
    strand.last = came_from
    if strand.queued is not None:
        name, given = strand.queued
        strand.queued = None
        run.ready.append((strand, name, given))
    elif fan is not None and (fan.children or fan.unfinished):
        strand.fan, strand.spent = fan, None
        for child in fan.revive():
            _revive(run, child, came_from)
    elif strand.state is not None:
        strand.attempts = {}
        strand.retries = 0
        begin(run, strand)
