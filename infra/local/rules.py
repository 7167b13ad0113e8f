"""Delivers Step Functions status events to the functions that the template's rules name."""

import asyncio
import json
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from local.constants import ACCOUNT, REGION
from local.invoke import LambdaInvoker
from local.template.model import Rule


class Rules:
    """The rules of the default bus, matched as EventBridge matches them.

    Args:
        rules: the template's rules.
        lambdas: invokes their targets; one that fails is retried as Lambda retries events.
    """

    def __init__(self, rules: Iterable[Rule], lambdas: LambdaInvoker) -> None:
        self._rules = [rule for rule in rules if rule.pattern is not None and rule.enabled]
        self._lambdas = lambdas
        self._deliveries: set[asyncio.Task[None]] = set()

    def status_changed(self, detail: Mapping[str, Any]) -> None:
        """Deliver the detail of a status event to every rule that matches."""
        event = {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": "Step Functions Execution Status Change",
            "source": "aws.states",
            "account": ACCOUNT,
            "time": datetime.fromtimestamp(_moment(detail), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": REGION,
            "resources": [detail["executionArn"]],
            "detail": dict(detail),
        }
        for rule in self._rules:
            if _matches(rule, event):
                self._deliver(rule, event)

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


def _moment(detail: Mapping[str, Any]) -> float:
    return float(detail.get("stopDate") or detail["startDate"]) / 1000


def _matches(rule: Rule, event: Mapping[str, Any]) -> bool:
    from moto.events.models import EventPattern

    pattern = EventPattern.load(json.dumps(rule.pattern))
    return bool(pattern.matches_event(cast("Any", event)))
