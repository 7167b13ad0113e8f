"""Names in ErrorEquals exist, can be raised where they are matched, and are matched once."""

import re
from collections.abc import Iterator
from typing import Final

from autoops import errors
from local.verify.findings import Finding
from local.verify.machine import LAMBDA, Machine, State
from local.verify.ways import way_to
from local.verify.world import World, function_arn

OURS: Final = frozenset(
    name
    for name, one in vars(errors).items()
    if isinstance(one, type) and issubclass(one, errors.AutoOpsError)
)
MAPS: Final = frozenset(
    {
        "States.ItemReaderFailed",
        "States.ResultWriterFailed",
        "States.ExceedToleratedFailureThreshold",
    }
)
UNCAUGHT: Final = frozenset({"States.Runtime", "States.DataLimitExceeded"})
CALLS: Final = frozenset({"AdmissionLost", "ModelThrottled", "CallInProgress", "OutcomeUnknown"})
_FOREIGN: Final = re.compile(r"^[A-Z]\w*\.[A-Za-z]\w*$")
_PYTHON: Final = frozenset({"Exception", "Runtime.ExitError", "Sandbox.Timedout"})


def raised(world: World, machine: Machine) -> Iterator[Finding]:
    """Errors that no name in the world has, or that cannot reach the Retry or Catch."""
    for state in machine.states():
        for sentence in _problems(world, state):
            yield Finding(machine.name, "data", way_to(machine, state), sentence)


def _problems(world: World, state: State) -> Iterator[str]:
    for field in ("Retry", "Catch"):
        seen: set[str] = set()
        for entry in state.body.get(field) or ():
            names = entry.get("ErrorEquals") if isinstance(entry, dict) else None
            for name in names if isinstance(names, list) else ():
                problem = _problem(world, state, str(name), field)
                if problem:
                    yield problem
                if name in seen:
                    yield f"{field} matches {name} twice: the second never acts"
                elif "States.ALL" in seen:
                    yield f"{field} matches {name} after States.ALL: it never acts"
            seen |= set(names or ())


def _problem(world: World, state: State, name: str, field: str) -> str:
    if name == "States.HeartbeatTimeout" and "HeartbeatSeconds" not in state.body:
        return "matches States.HeartbeatTimeout and has no HeartbeatSeconds"
    if name in UNCAUGHT and field == "Catch":
        return f"catches {name}, which cannot be caught"
    if name in MAPS and not state.distributed:
        return f"matches {name}, which only a Distributed Map raises"
    if name.startswith("Lambda.") and state.type == "Task" and not _is_lambda(state):
        return f"matches {name}, which only a Lambda function raises"
    if name in OURS:
        return _of_ours(world, state, name, field)
    known = name.startswith("States.") or _FOREIGN.match(name) or name in _PYTHON
    function = world.function(state)
    if not known and function is not None and function.step:
        return f"matches {name}, which is no error of autoops.errors"
    return ""


def _of_ours(world: World, state: State, name: str, field: str) -> str:
    if state.is_sync and state.type == "Task":
        return f"matches {name}, but what fails a child arrives as States.TaskFailed"
    function = world.function(state)
    if field == "Catch" and name in CALLS and function is not None and function.step:
        calls = world.asks_model(state) or function.admits or function.once
        return "" if calls else f"catches {name}, which only a model call raises"
    return ""


def _is_lambda(state: State) -> bool:
    return state.resource.startswith(LAMBDA) or bool(function_arn(state))
