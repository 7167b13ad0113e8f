"""The verdict as SARIF 2.1.0, which code hosts show beside the lines of a definition."""

from pathlib import Path
from typing import Any, Final

from local.verify.findings import Finding
from local.verify.machine import Machine
from local.verify.verdict import Verdict
from local.verify.world import World

Json = Any
RULES: Final = {
    "guard": "Every model call and effect is admitted, and every admission is settled",
    "bounds": "Everything ends: cycles, waits, Maps, machines, histories",
    "retries": "Retry follows the policies",
    "undo": "Every effect can be undone and writes its intent first",
    "data": "Values are bound before they are read, and references stay shut",
    "contracts": "What a state hands over and reads is what the step takes and gives",
    "limits": "Worst cases stay below the declared limits",
    "foreign": "What cannot be judged is named",
}


def as_sarif(world: World, verdict: Verdict) -> Json:
    """One run with a result for each finding."""
    machines = {machine.name: machine for machine in world.machines.values()}
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in RULES.items()]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "autoops verify", "rules": rules}},
                "results": [_result(one, machines[one.machine]) for one in verdict.findings],
            }
        ],
    }


def _result(finding: Finding, machine: Machine) -> Json:
    place = {
        "artifactLocation": {"uri": machine.file or machine.name},
        "region": {"startLine": _line(machine, finding.path[-1] if finding.path else "")},
    }
    return {
        "ruleId": finding.rule,
        "level": "note" if finding.note else "error",
        "message": {"text": f"{' → '.join(finding.path)}: {finding.sentence}"},
        "locations": [{"physicalLocation": place}],
    }


def _line(machine: Machine, state: str) -> int:
    """The line where a state begins in its file, 1 where that is not found."""
    file = Path(machine.file)
    text = file.read_text("utf-8") if machine.file and file.is_file() else machine.text
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip().startswith(f'"{state}":'):
            return number
    return 1
