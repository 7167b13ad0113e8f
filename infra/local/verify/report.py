"""`autoops verify`: reads the machines, holds them to the rules, prints what it found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
from rich.console import Console

from local.verify.files import with_files
from local.verify.policies import policies
from local.verify.retries import calls, endless, over_limits
from local.verify.settings import Settings
from local.verify.tables import print_calls, print_costs, print_findings
from local.verify.template import read_world
from local.verify.verdict import Verdict, verify
from local.verify.world import World
from local.verify.written import as_json

REFUSED: Final = 1


@dataclass(frozen=True)
class Asked:
    """What the command line asks for.

    Attributes:
        template: the template, None when only files are read.
        files: definitions; with a template those that it deploys are judged as it deploys them.
        as_json: print JSON, not tables.
    """

    template: Path | None
    files: Sequence[Path] = ()
    as_json: bool = False


def print_verdict(console: Console, asked: Asked) -> int:
    """Verify and print; the exit code.

    Raises:
        TemplateError, NotAMachineError: what there is to read cannot be read.
    """
    settings = Settings.read(asked.template.parent if asked.template else Path())
    world = read_world(asked.template, settings) if asked.template else World({})
    verdict = verify(with_files(world, asked.files), settings)
    _print(console, verdict, as_json_text=asked.as_json)
    return REFUSED if verdict.refused else 0


def _print(console: Console, verdict: Verdict, *, as_json_text: bool) -> None:
    if as_json_text:
        text = orjson.dumps(as_json(verdict), option=orjson.OPT_INDENT_2).decode()
        console.out(text, highlight=False)
        return
    print_costs(console, verdict.costs)
    print_calls(console, verdict.calls)
    print_findings(console, verdict.findings)


def print_retries(console: Console, template: Path) -> int:
    """The most requests and seconds of every model call; the exit code."""
    settings = Settings.read(template.parent)
    world = read_world(template, settings)
    found = calls(world, settings)
    print_calls(console, found)
    refused = [one for machine in world.machines.values() for one in policies(world, machine)]
    refused += [*over_limits(found, settings), *(one for call in found for one in endless(call))]
    print_findings(console, sorted(refused))
    return REFUSED if refused else 0
