"""How often a state tries, and how long it takes at most."""

import math
from typing import Any, Final

from local.stepfunctions.retries import Retrier, read_retriers
from local.verify.expressions import at_most
from local.verify.machine import State

Json = Any
SILENT: Final = frozenset(
    {
        "CallInProgress",
        "Lambda.TooManyRequestsException",
    }
)
"""Errors that come before a model was asked: no request is behind them."""


def retriers(state: State) -> tuple[Retrier, ...]:
    """The state's Retry; what cannot be read is left out."""
    found = state.body.get("Retry")
    entries = found if isinstance(found, list) else []
    return read_retriers(
        one for one in entries if isinstance(one, dict) and isinstance(one.get("ErrorEquals"), list)
    )


def most_tries(state: State) -> int:
    """How often the state does its work at most, the first time among them."""
    return 1 + sum(one.max_attempts for one in retriers(state))


def most_asking(state: State) -> int:
    """How often it does so with a model asked."""
    return 1 + sum(one.max_attempts for one in retriers(state) if not one.errors <= SILENT)


def most_delay(state: State) -> float:
    """Seconds that all its retries wait at most."""
    return sum(
        one.delay(attempt, None) for one in retriers(state) for attempt in range(one.max_attempts)
    )


def most_seconds(state: State) -> float:
    """Seconds of one try, infinity where nothing bounds it."""
    most = at_most(state.body.get("TimeoutSeconds"))
    return math.inf if most is None else most
