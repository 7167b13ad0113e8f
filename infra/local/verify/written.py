"""The verdict for other programs: JSON."""

import math
from dataclasses import asdict
from typing import Any

from local.verify.baseline import declared
from local.verify.cost import FIGURES, Cost
from local.verify.findings import Finding
from local.verify.retries import Call
from local.verify.verdict import Verdict
from local.verify.world import World

Json = Any


def as_json(world: World, verdict: Verdict) -> Json:
    """Machines with their worst cases, calls, findings; null stands for no bound."""
    return {
        "machines": {
            machine.name: {
                **cost_as_json(verdict.costs[machine.name]),
                "declared": declared(world, machine),
            }
            for machine in sorted(world.machines.values(), key=lambda one: one.name)
        },
        "calls": [_call(call) for call in verdict.calls],
        "findings": [_finding(finding) for finding in verdict.findings],
    }


def cost_as_json(cost: Cost) -> Json:
    """The figures of a worst case, dollars in nano-dollars."""
    figures = {name: _whole(getattr(cost, name)) for name in FIGURES}
    figures["nano_dollars"] = figures.pop("dollars")
    unbounded = {name: cost.reasons(name) for name in FIGURES if cost.reasons(name)}
    return {**figures, "unbounded": unbounded}


def _call(call: Call) -> Json:
    return {
        **asdict(call),
        "counters": {name: _whole(most) for name, most in call.counters.items()},
        "different": _whole(call.different),
        "requests": _whole(call.requests),
        "seconds": _whole(call.seconds),
    }


def _finding(finding: Finding) -> Json:
    return asdict(finding)


def _whole(value: float) -> int | None:
    return None if math.isinf(value) else math.ceil(value)
