"""`autoops verify`: reads the machines, holds them to the rules, prints what it found."""

from pathlib import Path
from typing import Final

from rich.console import Console

from local.verify.policies import policies
from local.verify.retries import calls, over_limits
from local.verify.settings import Settings
from local.verify.tables import print_calls, print_findings
from local.verify.template import read_world

REFUSED: Final = 1


def print_retries(console: Console, template: Path) -> int:
    """The most requests and seconds of every model call; the exit code."""
    settings = Settings.read(template.parent)
    world = read_world(template, settings)
    found = calls(world, settings)
    print_calls(console, found)
    refused = [one for machine in world.machines.values() for one in policies(world, machine)]
    refused += over_limits(found, settings)
    print_findings(console, sorted(refused))
    return REFUSED if refused else 0
