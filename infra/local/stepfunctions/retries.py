"""Retry: which retrier an error meets, and how long it waits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from local.stepfunctions.errors import (
    ALL,
    DATA_LIMIT,
    HEARTBEAT,
    RUNTIME,
    TASK_FAILED,
    TIMEOUT,
)

_UNLIMITED: Final = 99_999_999
# A heartbeat that fails to come has a name of its own and is a timeout as well.
_ALSO: Final = {HEARTBEAT: TIMEOUT}


@dataclass(frozen=True, slots=True)
class Retrier:
    """One entry of Retry.

    Attributes:
        errors: the names it matches.
        interval_seconds: the first delay.
        max_attempts: how often it retries.
        backoff_rate: by what each further delay grows.
        max_delay_seconds: the longest delay, before jitter.
        jitter: whether the delay is drawn from 0 to what it would be.
    """

    errors: frozenset[str]
    interval_seconds: float
    max_attempts: int
    backoff_rate: float
    max_delay_seconds: float
    jitter: bool

    def delay(self, attempt: int, random: Random | None) -> float:
        """Seconds to wait before retry number `attempt`, which starts at 0.

        Args:
            attempt: how often this retrier has retried already.
            random: where a jittered delay is drawn from; None takes the longest.
        """
        try:
            delay = self.interval_seconds * self.backoff_rate**attempt
        except OverflowError:
            delay = _UNLIMITED
        delay = min(delay, self.max_delay_seconds)
        return random.uniform(0, delay) if self.jitter and random is not None else delay


def read_retriers(entries: Iterable[Mapping[str, Any]]) -> tuple[Retrier, ...]:
    """Read the Retry field with AWS's defaults."""
    return tuple(
        Retrier(
            errors=frozenset(entry["ErrorEquals"]),
            interval_seconds=entry.get("IntervalSeconds", 1),
            max_attempts=entry.get("MaxAttempts", 3),
            backoff_rate=entry.get("BackoffRate", 2.0),
            max_delay_seconds=entry.get("MaxDelaySeconds", _UNLIMITED),
            jitter=entry.get("JitterStrategy") == "FULL",
        )
        for entry in entries
    )


def matches(errors: frozenset[str], error: str | None) -> bool:
    """Whether an ErrorEquals list matches an error.

    States.ALL takes all but States.DataLimitExceeded, which must be named; nothing takes
    States.Runtime. States.TaskFailed takes all but timeouts.
    """
    if error == RUNTIME:
        return False
    if error in errors or _ALSO.get(error or "") in errors:
        return True
    if error == DATA_LIMIT:
        return False
    return ALL in errors or (TASK_FAILED in errors and error not in (TIMEOUT, HEARTBEAT))
