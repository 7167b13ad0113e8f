"""The verdict over a world: what each machine costs at most, and every refusal."""

from collections.abc import Iterator
from dataclasses import dataclass

from local.verify.bounds import bounds, limits
from local.verify.cost import Cost
from local.verify.findings import Finding
from local.verify.foreign import foreign
from local.verify.guard import guard
from local.verify.machine import Machine
from local.verify.policies import policies
from local.verify.retries import Call, calls, over_limits, roots
from local.verify.settings import Settings
from local.verify.world import World
from local.verify.worst import Worst


@dataclass(frozen=True)
class Verdict:
    """What verification found.

    Attributes:
        costs: the worst case of each machine, by name.
        calls: every model call of each machine that no other starts.
        findings: refusals and notes, sorted.
    """

    costs: dict[str, Cost]
    calls: list[Call]
    findings: list[Finding]

    @property
    def refused(self) -> bool:
        """Whether anything is wrong; notes refuse nothing."""
        return not all(finding.note for finding in self.findings)


def verify(world: World, settings: Settings) -> Verdict:
    """Hold the machines of a world to every rule."""
    worst = Worst(world)
    found = calls(world, settings)
    costs = {machine.name: worst.of(machine) for machine in world.machines.values()}
    findings = set(over_limits(found, settings))
    for machine in world.machines.values():
        findings |= set(_rules(world, machine, worst))
    for machine in roots(world):
        findings |= set(limits(machine, costs[machine.name], settings))
    return Verdict(costs, found, sorted(findings))


def _rules(world: World, machine: Machine, worst: Worst) -> Iterator[Finding]:
    yield from foreign(world, machine)
    yield from guard(world, machine)
    yield from bounds(machine, worst)
    yield from policies(world, machine)
