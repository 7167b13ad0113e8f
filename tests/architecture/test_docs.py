"""The documents tell of what there is: every command, file, dependency, parameter and error."""

import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from architecture.project import ROOT, Project, hold
from autoops import errors

LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#]+)")
COMMAND: Final = re.compile(r"\bmake ([a-z][a-z-]*)(?=[`\s]|$)", re.MULTILINE)


def dead_commands(text: str, makefile: str, name: str) -> Iterator[str]:
    targets = set(re.findall(r"^([a-z][a-z -]*):", makefile, re.MULTILINE))
    known = {target for line in targets for target in line.split()}
    for command in sorted(set(_commands(text)) - known):
        yield f"{name}: tells of make {command}, which is no target"


def dead_links(text: str, folder: Path, name: str) -> Iterator[str]:
    for target in LINK.findall(text):
        if not (folder / target).exists():
            yield f"{name}: links to {target}, which is not there"


def untold(words: Iterable[str], text: str, name: str) -> Iterator[str]:
    for word in sorted(words):
        if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text):
            yield f"{name}: does not tell of {word}"


def _commands(text: str) -> list[str]:
    code = re.findall(r"```[a-z]*\n(.*?)```|`([^`\n]+)`", text, re.DOTALL)
    return [command for pair in code for part in pair for command in COMMAND.findall(part)]


def _dependencies() -> set[str]:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    return {
        Requirement(entry).name
        for group in groups.values()
        for entry in group
        if isinstance(entry, str)
    }


def _errors() -> set[str]:
    found = inspect.getmembers(errors, inspect.isclass)
    return {
        name
        for name, error in found
        if issubclass(error, errors.AutoOpsError) and not error.__subclasses__()
    }


def _text(name: str) -> str:
    return (ROOT / name).read_text()


def test_every_command_in_the_readme_is_a_target() -> None:
    hold(dead_commands(_text("README.md"), _text("Makefile"), "README.md"))


def test_a_dead_command_is_named() -> None:
    assert list(dead_commands("`make fly`", "run: x\n", "README.md")) == [
        "README.md: tells of make fly, which is no target"
    ]


def test_every_link_leads_somewhere() -> None:
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        hold(dead_links(path.read_text(), path.parent, path.name))


def test_a_dead_link_is_named(tmp_path: Path) -> None:
    assert list(dead_links("[a](docs/a.md) [b](https://x)", tmp_path, "README.md")) == [
        "README.md: links to docs/a.md, which is not there"
    ]


def test_every_dependency_has_its_reason() -> None:
    hold(untold(_dependencies(), _text("docs/decisions.md"), "docs/decisions.md"))


def test_every_error_is_in_the_runbook() -> None:
    hold(untold(_errors(), _text("docs/runbook.md"), "docs/runbook.md"))


def test_every_alarm_is_in_the_runbook(project: Project) -> None:
    alarms = {
        name
        for stack in [project.template, *project.stacks.values()]
        for name, resource in stack["Resources"].items()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
    }
    assert alarms
    hold(untold(alarms, _text("docs/runbook.md"), "docs/runbook.md"))


def test_every_parameter_is_in_the_readme(project: Project) -> None:
    hold(untold(project.template["Parameters"], _text("README.md"), "README.md"))


def test_what_is_not_told_is_named() -> None:
    assert list(untold({"moto", "mo"}, "uses moto", "docs/decisions.md")) == [
        "docs/decisions.md: does not tell of mo"
    ]
