"""Rules on the laptop: schedules tick at their rate, and say what EventBridge says."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from local.invoke import InvokeResult
from local.rules import Rules, seconds_of
from local.template.model import Rule, Target

SWEEP = "arn:aws:lambda:us-east-1:123456789012:function:autoops-sweep"


@dataclass
class Lambdas:
    """Functions that answer as they are told, and remember how they were invoked."""

    errors: list[str | None] = field(default_factory=list)
    invoked: list[tuple[str, Any, bool]] = field(default_factory=list)

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        self.invoked.append((function_arn, json.loads(payload), asynchronous))
        return InvokeResult(200, b"null", self.errors.pop(0) if self.errors else None)


def rule(schedule: str, *, enabled: bool = True) -> Rule:
    return Rule(
        logical_id="Sweep",
        name="sweep",
        arn="arn:aws:events:us-east-1:123456789012:rule/sweep",
        bus="default",
        pattern=None,
        schedule=schedule,
        enabled=enabled,
        targets=(Target(arn=SWEEP, properties={}),),
    )


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [("rate(1 minute)", 60), ("rate(5 minutes)", 300), ("rate(2 hours)", 7_200)],
)
def test_a_rate_is_so_many_seconds(expression: str, seconds: int) -> None:
    assert seconds_of(expression) == seconds


@pytest.mark.parametrize("expression", ["cron(0 10 * * ? *)", "rate(1 week)", "rate(minute)", ""])
def test_another_expression_is_named(expression: str) -> None:
    with pytest.raises(ValueError, match=r"the laptop ticks at rate\(\.\.\.\) only"):
        seconds_of(expression)


async def ticked(rules: Rules, times: int, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let so many ticks pass; the waits between them."""
    waits: list[float] = []
    sleep = asyncio.sleep

    async def no_time(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)
        if len(waits) > times:
            raise asyncio.CancelledError

    monkeypatch.setattr("local.rules.asyncio.sleep", no_time)
    with pytest.raises(asyncio.CancelledError):
        await rules.tick()
    await rules.idle()
    return waits


async def test_a_schedule_ticks_at_its_rate_with_an_event_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lambdas = Lambdas()
    waits = await ticked(Rules([rule("rate(1 minute)")], lambdas), 2, monkeypatch)
    assert waits == [60, 60, 60]
    assert [(function, late) for function, _, late in lambdas.invoked] == [(SWEEP, False)] * 2
    event = lambdas.invoked[0][1]
    assert (event["detail-type"], event["source"]) == ("Scheduled Event", "aws.events")
    assert (event["detail"], event["resources"]) == ({}, [rule("rate(1 minute)").arn])


async def test_a_tick_that_fails_is_retried_as_lambda_retries_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lambdas = Lambdas(errors=["Unhandled"])
    await ticked(Rules([rule("rate(1 minute)")], lambdas), 1, monkeypatch)
    assert [late for _, _, late in lambdas.invoked] == [False, True]


async def test_a_rule_that_is_off_does_not_tick() -> None:
    lambdas = Lambdas()
    rules = Rules([rule("rate(1 minute)", enabled=False)], lambdas)
    await rules.tick()
    assert lambdas.invoked == []
