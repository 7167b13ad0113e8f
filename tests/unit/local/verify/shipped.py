"""The machines that ship, and what becomes of them when somebody changes one thing."""

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from local.template.template import Template
from local.verify.machine import Machine, read_machine
from local.verify.settings import Settings
from local.verify.template import read_world
from local.verify.world import World

Json = Any
ROOT: Final = Path(__file__).parents[4]
Change = Callable[[Json], object]


@cache
def settings() -> Settings:
    return Settings.read(ROOT)


@cache
def world() -> World:
    return read_world(ROOT / "template.yaml", settings())


def machine(name: str, around: World | None = None) -> Machine:
    found = (around or world()).machines.values()
    return next(one for one in found if one.name == name)


def altered(changes: Mapping[str, Change]) -> World:
    """The world with definitions changed in place, by machine."""
    machines = dict(world().machines)
    for name, change in changes.items():
        known = machine(name)
        found = copy.deepcopy(definition(known.arn))
        change(found)
        text = json.dumps(found)
        machines[known.arn] = read_machine(name, text, arn=known.arn, file=known.file)
    return replace(world(), machines=machines)


@cache
def definition(arn: str) -> Json:
    template = Template.load(ROOT / "template.yaml")
    return json.loads(next(m.definition for m in template.machines.values() if m.arn == arn))
