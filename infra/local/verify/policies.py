"""Retry is the same everywhere: what heals is tried again, what cannot heal is not."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from autoops import errors
from local.verify.findings import Finding
from local.verify.machine import LAMBDA, Machine, State
from local.verify.tries import retriers
from local.verify.ways import way_to
from local.verify.world import World

Json = Any
TRANSIENT: Final = (
    "ModelUnavailable",
    "DependencyUnavailable",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.Unknown",
)
THROTTLED: Final = ("ModelThrottled", "Lambda.TooManyRequestsException")
BOUNDED: Final = ("ModelTimedOut", "ModelFaulted", "Runtime.ExitError", "Sandbox.Timedout")
IN_PROGRESS: Final = ("CallInProgress",)
TIMEOUT: Final = "States.Timeout"
HOPELESS: Final = ("Runtime.ImportModuleError", "Runtime.HandlerNotFound", "States.ALL")
LEASE_MARGIN_SECONDS: Final = 60


def _policy(interval: int, rate: float, attempts: int | None, cap: int, jitter: str) -> Json:
    figures = {
        "IntervalSeconds": interval,
        "BackoffRate": rate,
        "MaxAttempts": attempts,
        "MaxDelaySeconds": cap,
        "JitterStrategy": jitter,
    }
    return {name: value for name, value in figures.items() if value is not None}


POLICIES: Final[Mapping[tuple[str, ...], Json]] = {
    TRANSIENT: _policy(1, 2, 3, 30, "FULL"),
    THROTTLED: _policy(5, 2, 6, 120, "FULL"),
    THROTTLED[1:]: _policy(5, 2, 6, 120, "FULL"),  # where ModelThrottled is caught back to Admit
    BOUNDED: _policy(2, 2, 2, 30, "FULL"),
    (*BOUNDED, TIMEOUT): _policy(2, 2, 2, 30, "FULL"),
    IN_PROGRESS: _policy(15, 1.5, None, 120, "NONE"),  # attempts depend on the function's timeout
}


def policies(world: World, machine: Machine) -> Iterator[Finding]:
    """Where a Retry is not one of the policies, lacks one, or repeats what must not be."""
    for state in machine.states():
        for sentence in _problems(world, state):
            yield Finding(machine.name, "retries", way_to(machine, state), sentence)


def _problems(world: World, state: State) -> Iterator[str]:
    yield from _unsafe(world, state)
    function = world.function(state)
    if function is not None and function.step:
        yield from _figures(state)
        yield from _missing(world, state)
        yield from _lease(world, state)


def _unsafe(world: World, state: State) -> Iterator[str]:
    """What goes on unseen must not be begun a second time."""
    names = {name for one in retriers(state) for name in one.errors}
    function = world.function(state)
    if TIMEOUT in names or ("States.ALL" in names and (state.is_callback or state.is_sync)):
        if state.is_callback or state.is_sync:
            kind = "callback" if state.is_callback else "child or job"
            yield f"retries {TIMEOUT} of a {kind}, whose work may still go on"
        elif function is not None and (function.once or function.has_effect):
            yield f"retries {TIMEOUT} of an effect, which may have happened"
    ours = {n for n, e in vars(errors).items() if isinstance(e, type) and _gives_up(e)}
    if function is not None and function.step:
        for name in sorted(names & (ours | set(HOPELESS))):
            yield f"retries {name}, which cannot heal"


def _gives_up(error: type) -> bool:
    return issubclass(error, errors.GiveUp)


def _figures(state: State) -> Iterator[str]:
    for entry in state.body.get("Retry") or ():
        names = tuple(entry.get("ErrorEquals", ()))
        if names not in POLICIES:
            yield f"retries {', '.join(names)}, which is none of the policies"
        elif not POLICIES[names].items() <= entry.items():
            yield f"retries {names[0]} with other figures than {POLICIES[names]}"


def _missing(world: World, state: State) -> Iterator[str]:
    names = {name for one in retriers(state) for name in one.errors}
    caught = {name for edge in state.edges for name in edge.errors}
    # A state that waits to be admitted asks no model; refused for rate too often, it gives up.
    throttled = {"ModelThrottled"} if state.is_callback else caught & {"ModelThrottled"}
    wanted = {*TRANSIENT, *THROTTLED, *BOUNDED} - throttled
    function = world.function(state)
    if state.resource == LAMBDA and function is not None:
        harmless = not (function.once or function.has_effect)
        wanted |= {TIMEOUT} if harmless else set()
    for name in sorted(wanted - names):
        yield f"does not retry {name}"


def _lease(world: World, state: State) -> Iterator[str]:
    """A call in progress is awaited as long as a worker that died in it is believed to live."""
    function = world.function(state)
    if function is None or not (function.once or world.asks_model(state)):
        return
    waits = sum(
        one.delay(attempt, None)
        for one in retriers(state)
        if one.errors == frozenset(IN_PROGRESS)
        for attempt in range(one.max_attempts)
    )
    lease = function.lease if world.asks_model(state) else 0
    needed = lease + function.timeout + LEASE_MARGIN_SECONDS
    if waits < needed:
        yield f"waits {waits:.0f} s for CallInProgress, the lease needs {needed} s"
