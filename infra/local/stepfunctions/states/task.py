"""Task: asks a service to do something and waits for the answer, a token, or a job's end."""

from collections.abc import Mapping
from typing import Any, Final

from local.constants import PAYLOAD_BYTES, REGION
from local.stepfunctions.commands import RunTask
from local.stepfunctions.errors import (
    DATA_LIMIT,
    HEARTBEAT,
    RUNTIME,
    TIMEOUT,
    EvaluationError,
    StatesError,
)
from local.stepfunctions.expressions import Scope
from local.stepfunctions.flow import fail, leave, too_large
from local.stepfunctions.jsontext import Json
from local.stepfunctions.payloads import expect
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.run import Task as Attempt
from local.stepfunctions.states.answered import Answered
from local.stepfunctions.states.base import Compile
from local.stepfunctions.states.task_events import TaskEvents, events_for

_LONGEST_SECONDS: Final = 99_999_999
_MOMENTS: Final = ("Scheduled", "Started", "Submitted", "Succeeded", "Failed", "TimedOut")


class Task(Answered):
    """Runs a Lambda function, an optimised integration, an SDK call or an activity."""

    kind = "Task"

    def read(self, fields: Mapping[str, Any], _: Compile) -> None:
        """Compile the resource, its arguments and the time limits."""
        self.resource: str = fields["Resource"]
        self.events: TaskEvents = events_for(self.resource)
        self.needs_token = self.resource.endswith(".waitForTaskToken")
        self._arguments = self.optional(fields, "Arguments")
        credentials = fields.get("Credentials") or {}
        self._role = self.optional(credentials, "RoleArn", "Credentials/")
        self._limits = {
            name: (self.payload(fields[name], name), fields[name])
            for name in ("TimeoutSeconds", "HeartbeatSeconds")
            if name in fields
        }
        self._kinds = {moment: self.events.kind(moment) for moment in _MOMENTS}

    def enter(self, run: Run, strand: Strand) -> None:
        """Schedule one attempt.

        Raises:
            StatesError: the arguments or a time limit could not be evaluated.
        """
        if self.events.by_worker and not run.has_activity(self.resource):
            raise StatesError(RUNTIME, f"The activity {self.resource} does not exist.")
        scope = run.scope(strand)
        given = strand.input if self._arguments is None else Json(self._arguments(scope))
        timeout = self._seconds("TimeoutSeconds", scope)
        heartbeat = self._seconds("HeartbeatSeconds", scope)
        if given.exceeds(PAYLOAD_BYTES):
            raise StatesError(DATA_LIMIT, too_large(self.name))
        details = self.events.scheduled(given, timeout, heartbeat, REGION)
        if self._role is not None:
            details["taskCredentials"] = {"roleArn": self._role(scope)}
        run.record(strand, self._kinds["Scheduled"], details)
        if self.events.starts_at_once:
            run.record(strand, self._kinds["Started"], self.events.base())
        self._start(run, strand, given, timeout, heartbeat)

    def _start(
        self, run: Run, strand: Strand, given: Json, timeout: float | None, heartbeat: float | None
    ) -> None:
        token = run.token(strand) if self.needs_token or self.events.by_worker else None
        attempt = Attempt(run.number(), strand, token)
        run.tasks[attempt.number] = attempt
        strand.task = attempt
        if timeout is not None:
            attempt.deadline = run.set_timer(strand, run.now + round(timeout * 1000), self._expire)
        attempt.heartbeat_seconds = heartbeat
        self.alive(run, strand)
        run.commands.append(
            RunTask(
                task=attempt.number,
                resource=self.resource,
                arguments=given,
                token=token,
                state=self.name,
                attempt=strand.retries,
                timeout_seconds=timeout,
            )
        )

    def alive(self, run: Run, strand: Strand) -> None:
        """Start the time to the next heartbeat again."""
        attempt = strand.task
        if attempt is None or attempt.heartbeat_seconds is None:
            return
        run.cancel_timer(attempt.heartbeat)
        due = run.now + round(attempt.heartbeat_seconds * 1000)
        attempt.heartbeat = run.set_timer(strand, due, self._miss_heartbeat)

    def started_by(self, run: Run, strand: Strand, worker: str | None) -> None:
        """A worker took the task; its heartbeats count from now."""
        details = {} if worker is None else {"workerName": worker}
        run.record(strand, self._kinds["Started"], details)
        self.alive(run, strand)

    def submitted(self, run: Run, strand: Strand, output: str) -> None:
        """The service took the request; the answer comes later."""
        details = {**self.events.base(), "output": output}
        run.record(strand, self._kinds["Submitted"], details)

    def succeeded(self, run: Run, strand: Strand, result: Json) -> None:
        """The task returned: leave the state with its result."""
        if result.exceeds(PAYLOAD_BYTES):
            self.failed(run, strand, StatesError(DATA_LIMIT, too_large(self.events.who)))
            return
        _end(run, strand)
        details = {**self.events.base(), "output": result.text}
        run.record(strand, self._kinds["Succeeded"], details)
        try:
            leave(run, strand, run.scope(strand, result=result.data), result)
        except StatesError as error:
            fail(run, strand, error)

    def failed(self, run: Run, strand: Strand, error: StatesError) -> None:
        """The task failed: retry, catch or fail."""
        _end(run, strand)
        named = {"error": error.error, "cause": error.cause}
        details = {key: value for key, value in named.items() if value is not None}
        run.record(strand, self._kinds["Failed"], {**details, **self.events.base()})
        fail(run, strand, error)

    def _expire(self, run: Run, strand: Strand) -> None:
        self._time_out(run, strand, TIMEOUT)

    def _miss_heartbeat(self, run: Run, strand: Strand) -> None:
        self._time_out(run, strand, HEARTBEAT)

    def _time_out(self, run: Run, strand: Strand, error: str) -> None:
        if strand.task is None:
            return
        run.abandon_task(strand.task)
        details = {"error": error, **self.events.base()}
        run.record(strand, self._kinds["TimedOut"], details)
        fail(run, strand, StatesError(error))

    def _seconds(self, name: str, scope: Scope) -> float | None:
        if name not in self._limits:
            return None
        payload, source = self._limits[name]
        if type(source) is int and 0 < source <= _LONGEST_SECONDS:
            return source
        seconds = expect(payload, scope, "integer", source, name)
        if not 0 < seconds <= _LONGEST_SECONDS:
            sentence = f"The {name} field must be from 1 to {_LONGEST_SECONDS} but was: {seconds}"
            raise EvaluationError(sentence, name)
        return float(seconds)


def _end(run: Run, strand: Strand) -> None:
    if strand.task is not None:
        run.end_task(strand.task)
