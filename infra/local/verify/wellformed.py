"""A machine is one that Step Functions accepts, and its JSONata parses."""

import re
from collections.abc import Iterator
from typing import Final

from local.stepfunctions.validation import diagnose
from local.stepfunctions.validation_states import Diagnostic
from local.verify.findings import Finding
from local.verify.machine import Machine

_STATE: Final = re.compile(r"/States/([^/]+)")


def wellformed(machine: Machine) -> Iterator[Finding]:
    """What the service would refuse."""
    if machine.language == "JSONata":
        _, found = diagnose(machine.text, "EXPRESS" if machine.express else "STANDARD")
        for one in found:
            if one.severity == "ERROR" and not _is_ours(one):
                way = tuple(_STATE.findall(one.location or "")) or (machine.program.start,)
                yield Finding(machine.name, "data", way, one.sentence)


def _is_ours(one: Diagnostic) -> bool:
    """Whether another rule tells it, or speaks of a placeholder that nothing has filled."""
    return "is not reachable" in one.message or "${" in one.sentence
