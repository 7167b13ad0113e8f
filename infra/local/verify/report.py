"""`autoops verify`: reads the machines, holds them to the rules, prints what it found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

import orjson
from rich.console import Console
from rich.markup import escape

from local.verify.baseline import changes, read_baseline
from local.verify.files import with_files
from local.verify.mermaid import as_mermaid
from local.verify.policies import policies
from local.verify.retries import calls, endless, over_limits
from local.verify.sarif import as_sarif
from local.verify.settings import Settings
from local.verify.tables import print_calls, print_costs, print_findings
from local.verify.template import read_world
from local.verify.verdict import Verdict, verify
from local.verify.world import World
from local.verify.written import as_json

REFUSED: Final = 1
Form = Literal["table", "json", "sarif", "mermaid"]


def form_of(**asked: bool) -> Form:
    """The form that was asked for; a table when none was."""
    forms: tuple[Form, ...] = get_args(Form)
    return next((form for form in forms if asked.get(form)), "table")


@dataclass(frozen=True)
class Asked:
    """What the command line asks for.

    Attributes:
        template: the template, None when only files are read.
        files: definitions; with a template those that it deploys are judged as it deploys them.
        form: how the verdict is printed.
        baseline: an earlier verdict as JSON; then only what has changed is printed.
    """

    template: Path | None
    files: Sequence[Path] = ()
    form: Form = "table"
    baseline: Path | None = None


def print_verdict(console: Console, asked: Asked) -> int:
    """Verify and print; the exit code.

    Raises:
        TemplateError, NotAMachineError, NoBaselineError: what there is to read cannot be read.
    """
    settings = Settings.read(asked.template.parent if asked.template else Path())
    world = read_world(asked.template, settings) if asked.template else World({})
    world = with_files(world, asked.files)
    verdict = verify(world, settings)
    if asked.baseline is not None:
        _print_changes(console, world, verdict, asked.baseline)
    else:
        _print(console, world, verdict, asked.form)
    return REFUSED if verdict.refused else 0


def _print(console: Console, world: World, verdict: Verdict, form: Form) -> None:
    if form == "table":
        print_costs(console, verdict.costs)
        print_calls(console, verdict.calls)
        print_findings(console, verdict.findings)
    elif form == "mermaid":
        console.out(as_mermaid(world), highlight=False)
    else:
        found = as_json(world, verdict) if form == "json" else as_sarif(world, verdict)
        console.out(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode(), highlight=False)


def _print_changes(console: Console, world: World, verdict: Verdict, file: Path) -> None:
    for line in changes(read_baseline(file), as_json(world, verdict)["machines"]):
        console.print(escape(line), soft_wrap=True)
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
