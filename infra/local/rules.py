"""Delivers Step Functions status events and the ticks of schedules to the template's functions."""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from local.constants import ACCOUNT, REGION
from local.invoke import LambdaInvoker
from local.template.model import Rule

SECONDS: Final = {"minute": 60, "hour": 3_600, "day": 86_400}


class Rules:
    """The rules of the default bus, matched as EventBridge matches them.

    Args:
        rules: the template's rules.
        lambdas: invokes their targets; one that fails is retried as Lambda retries events.
    """

    def __init__(self, rules: Iterable[Rule], lambdas: LambdaInvoker) -> None:
        enabled = [rule for rule in rules if rule.enabled]
        self._rules = [rule for rule in enabled if rule.pattern is not None]
        self._schedules = [(rule, seconds_of(rule.schedule)) for rule in enabled if rule.schedule]
        self._lambdas = lambdas
        self._deliveries: set[asyncio.Task[None]] = set()

    def status_changed(self, detail: Mapping[str, Any]) -> None:
        """Deliver the detail of a status event to every rule that matches."""
        event = _event(
            "Step Functions Execution Status Change",
            "aws.states",
            detail["executionArn"],
            detail,
            _moment(detail),
        )
        for rule in self._rules:
            if _matches(rule, event):
                self._deliver(rule, event)

    async def tick(self) -> None:
        """Deliver the events of schedules, each at its rate, until cancelled."""
        await asyncio.gather(*(self._tick(rule, seconds) for rule, seconds in self._schedules))

    async def _tick(self, rule: Rule, seconds: int) -> None:
        while True:
            await asyncio.sleep(seconds)
            self._deliver(rule, _event("Scheduled Event", "aws.events", rule.arn, {}, time.time()))

    async def idle(self) -> None:
        """Wait until every delivery so far has ended."""
        while self._deliveries:
            await asyncio.gather(*self._deliveries, return_exceptions=True)

    def _deliver(self, rule: Rule, event: Mapping[str, Any]) -> None:
        payload = json.dumps(event).encode()
        for target in rule.targets:
            task = asyncio.ensure_future(self._invoke(target.arn, payload))
            self._deliveries.add(task)
            task.add_done_callback(self._deliveries.discard)

    async def _invoke(self, function: str, payload: bytes) -> None:
        result = await self._lambdas.invoke(function, payload)
        if result.function_error is not None:
            await self._lambdas.invoke(function, payload, asynchronous=True)


def seconds_of(expression: str) -> int:
    """Seconds between two ticks of a `rate(...)`; at other expressions the laptop does not tick.

    Raises:
        ValueError: the expression is no rate.
    """
    found = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
    if found is None:
        raise ValueError(f"schedule {expression}: the laptop ticks at rate(...) only")
    return int(found[1]) * SECONDS[found[2]]


def _event(
    kind: str, source: str, about: str, detail: Mapping[str, Any], at: float
) -> dict[str, Any]:
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": kind,
        "source": source,
        "account": ACCOUNT,
        "time": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [about],
        "detail": dict(detail),
    }


def _moment(detail: Mapping[str, Any]) -> float:
    return float(detail.get("stopDate") or detail["startDate"]) / 1000


def _matches(rule: Rule, event: Mapping[str, Any]) -> bool:
    from moto.events.models import EventPattern

    pattern = EventPattern.load(json.dumps(rule.pattern))
    return bool(pattern.matches_event(cast("Any", event)))
