"""What has changed since an earlier verdict: worst cases, and the declared numbers behind them."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from local.verify.cost import FIGURES
from local.verify.expressions import constant
from local.verify.machine import Machine, State
from local.verify.tables import figure, money, time
from local.verify.world import World

Json = Any
NAMES: Final = {name: "nano_dollars" if name == "dollars" else name for name in FIGURES}


class NoBaselineError(Exception):
    """The file holds no verdict; the message is one sentence."""


def read_baseline(file: Path) -> Json:
    """The machines of an earlier verdict, as `--json` printed it.

    Raises:
        NoBaselineError: the file holds none.
    """
    try:
        machines = json.loads(file.read_text("utf-8"))["machines"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise NoBaselineError(f"{file}: is no output of autoops verify --json: {problem}") from None
    if not isinstance(machines, dict):
        raise NoBaselineError(f"{file}: is no output of autoops verify --json")
    return machines


def changes(before: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[str]:
    """A line for each machine that costs something else than before."""
    for name in sorted({*before, *now}):
        if name not in now:
            yield f"{name}: is gone"
        elif name not in before:
            yield f"{name}: is new, worst case {_shown('dollars', now[name])}"
        else:
            yield from _changes_of(name, before[name], now[name])


def _changes_of(name: str, before: Json, now: Json) -> Iterator[str]:
    figures = [one for one in FIGURES if before.get(NAMES[one]) != now.get(NAMES[one])]
    told = [f"{one} {_shown(one, before)} → {_shown(one, now)}" for one in figures]
    numbers = _moved(before.get("declared", {}), now.get("declared", {}))
    if told or numbers:
        worst = f"worst case {_shown('dollars', before)} → {_shown('dollars', now)}"
        why = f" ({', '.join(numbers)})" if numbers else ""
        rest = [one for one in told if not one.startswith("dollars")]
        yield f"{name}: {worst}{why}" + (f"; {', '.join(rest)}" if rest else "")


def _moved(before: Mapping[str, Json], now: Mapping[str, Json]) -> list[str]:
    return [
        f"{name} {before.get(name, 'none')} → {now.get(name, 'none')}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def _shown(name: str, machine: Json) -> str:
    value = machine.get(NAMES[name])
    number = math.inf if value is None else float(value)
    return {"dollars": money, "seconds": time}.get(name, figure)(number)


def declared(world: World, machine: Machine) -> dict[str, int]:
    """The numbers that a machine and those it starts declare: timeouts, tries, counters, items."""
    found: dict[str, int] = {}
    for one in world.reached(machine):
        if one.timeout is not None:
            found[f"{one.name} TimeoutSeconds"] = one.timeout
        for state in one.states():
            found |= _of_state(one, state)
    return found


def _of_state(machine: Machine, state: State) -> dict[str, int]:
    numbers = {
        f"{state.name} {key}": state.body.get(key)
        for key in ("TimeoutSeconds", "Seconds", "MaxConcurrency")
    }
    given = state.arguments.get("Input")
    numbers |= given if isinstance(given, Mapping) else {}
    for retrier in state.body.get("Retry") or ():
        first = next(iter(retrier.get("ErrorEquals") or ["?"]))
        numbers[f"{machine.name} {state.name} tries of {first}"] = retrier.get("MaxAttempts")
    return {name: n for name, value in numbers.items() if (n := constant(value)) is not None}
