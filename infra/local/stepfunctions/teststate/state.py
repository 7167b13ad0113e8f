"""One state on its own: enters it, gives it a mocked or a real result, tells where it leads."""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from local.stepfunctions.clock import iso
from local.stepfunctions.commands import RunTask
from local.stepfunctions.errors import StatesError
from local.stepfunctions.events import Event
from local.stepfunctions.flow import fail, leave
from local.stepfunctions.jsontext import Json
from local.stepfunctions.machine import compile_machine
from local.stepfunctions.retries import matches
from local.stepfunctions.run import Identity, Run, Status
from local.stepfunctions.states.map_state import Map
from local.stepfunctions.states.task import Task

if TYPE_CHECKING:
    from local.stepfunctions.states.base import State

THRESHOLD: Final = "States.ExceedToleratedFailureThreshold"


@dataclass(slots=True)
class Tested:
    """What became of a state.

    Attributes:
        status: SUCCEEDED, FAILED, RETRIABLE or CAUGHT_ERROR.
        next: the state it leads to, None for none.
        output: its output, None when it has none.
        error: the error, None for none.
        details: the members of inspectionData.
    """

    status: str
    next: str | None = None
    output: Json | None = None
    error: StatesError | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Bench:
    """A state in a machine of its own.

    Args:
        definition: a machine whose StartAt is the state.
        identity: the execution the state believes to be in.
        given: the state's input.
        now: the moment in milliseconds.
        context: members of the context object that differ from the made-up ones.
    """

    def __init__(
        self,
        definition: dict[str, Any],
        identity: Identity,
        given: Json,
        now: int,
        context: dict[str, Any],
    ) -> None:
        machine = compile_machine(definition)
        self.run = Run(identity, machine, given, now)
        self.strand = self.run.root
        self.name = definition["StartAt"]
        self.result: str | None = None
        self._given_error: StatesError | None = None
        self.state: State = machine.program.states[self.name]
        self.strand.state = self.state
        self.strand.input = given
        self.strand.entered_at = now
        self.run.fixed_context = context
        self.strand.entered_id = self.run.record(self.strand, self.state.entered, {})

    def assign(self, variables: dict[str, Any]) -> None:
        """Set variables the state can read."""
        self.strand.variables = variables

    def enter(self) -> RunTask | None:
        """Enter the state; returns the task it asks for, None when it asks for none."""
        try:
            self.state.enter(self.run, self.strand)
        except StatesError as error:
            fail(self.run, self.strand, error)
        if self.strand.timer is not None and self.state.kind == "Wait":
            _, fired = self.run.timers.pop(self.strand.timer)
            if fired is not None:
                fired(self.run, self.strand)
        asked = [command for command in self.run.commands if isinstance(command, RunTask)]
        return asked[0] if asked else None

    def set_retries(self, count: int) -> None:
        """Let each retrier have retried so often before."""
        self.strand.attempts = dict.fromkeys(range(len(self.state.retriers)), count)
        self.strand.retries = count

    def succeed(self, value: Json) -> None:
        """Give the state its result."""
        self.result = value.text
        if isinstance(self.state, Task):
            self.state.succeeded(self.run, self.strand, value)
            return
        try:
            leave(self.run, self.strand, self.run.scope(self.strand, result=value.data), value)
        except StatesError as error:
            fail(self.run, self.strand, error)

    def fail(self, error: StatesError) -> None:
        """Let the state fail."""
        self._given_error = error
        if isinstance(self.state, Task) and self.strand.task is not None:
            self.state.failed(self.run, self.strand, error)
        else:
            fail(self.run, self.strand, error)

    def map_numbers(self) -> dict[str, Any]:
        """The concurrency and tolerance of a Map, evaluated.

        Raises:
            StatesError: one of them failed.
        """
        if not isinstance(self.state, Map):
            return {}
        return self.state.evaluate_numbers(self.run.scope(self.strand))

    def outcome(self) -> Tested:
        """Where the state leads."""
        error = _error_of(self.run.history) or self._given_error or _own_error(self.run)
        if self.run.ready:
            _, following, output = self.run.ready[0]
            status = "SUCCEEDED" if error is None else "CAUGHT_ERROR"
            return self._told(Tested(status, following, output, error))
        if self.strand.timer is not None:
            return self._told(Tested("RETRIABLE", error=error))
        if self.run.status is Status.SUCCEEDED:
            return Tested("SUCCEEDED", output=self.run.output)
        return self._told(Tested("FAILED", error=error))

    def _told(self, tested: Tested) -> Tested:
        told = {} if tested.error is None else self._error_details(tested)
        if told:
            tested.details["errorDetails"] = told
        return tested

    def _error_details(self, tested: Tested) -> dict[str, Any]:
        name = tested.error.error if tested.error else None
        if tested.status == "CAUGHT_ERROR":
            for number, catcher in enumerate(self.state.catchers):
                if matches(catcher.errors, name):
                    return {"catchIndex": number}
        for number, retrier in enumerate(self.state.retriers):
            if matches(retrier.errors, name):
                details: dict[str, Any] = {"retryIndex": number}
                if tested.status == "RETRIABLE":
                    attempt = self.strand.attempts[number] - 1
                    details["retryBackoffIntervalSeconds"] = round(retrier.delay(attempt, None))
                return details
        return {}


def _error_of(history: list[Event]) -> StatesError | None:
    for event in reversed(history):
        if event.type.endswith(("TaskFailed", "FunctionFailed", "EvaluationFailed", "TimedOut")):
            return StatesError(event.details.get("error"), event.details.get("cause"))
    return None


def _own_error(run: Run) -> StatesError | None:
    if run.status is Status.FAILED:
        return StatesError(run.error, run.cause)
    return None


def made_up_context(identity: Identity, given: Json, now: int) -> dict[str, Any]:
    """The context object of a state that is in no execution."""
    return {
        "Execution": {
            "Id": identity.arn,
            "Input": given.data,
            "Name": identity.name,
            "RoleArn": identity.role_arn,
            "StartTime": iso(now),
        },
        "StateMachine": {"Id": identity.machine_arn, "Name": identity.machine_name},
    }


def machine_of(text: str, name: str | None) -> tuple[dict[str, Any], bool]:
    """A machine that starts at the state to test, and whether the text was a whole machine.

    Raises:
        KeyError: the machine has no such state.
        ValueError: the text is no JSON object.
    """
    parsed = json.loads(text)
    if not isinstance(parsed, dict):
        raise ValueError("Definition must be a valid JSON object")  # noqa: TRY004 - of the text, not of the type
    if "States" in parsed:
        if name is not None and name not in parsed["States"]:
            raise KeyError(name)
        return {**parsed, "StartAt": name or parsed.get("StartAt", "")}, True
    state_name = name or "StateName"
    return {"StartAt": state_name, "States": {state_name: parsed}}, False
