"""The verdict over a world: what each machine costs at most, and every refusal."""

from collections.abc import Iterator
from dataclasses import dataclass

from local.verify.bounds import bounds, limits
from local.verify.bounds import endless as endless_figures
from local.verify.contracts import contracts
from local.verify.cost import Cost
from local.verify.findings import Finding
from local.verify.flows import Flows
from local.verify.foreign import foreign
from local.verify.guard import guard
from local.verify.machine import Machine
from local.verify.policies import policies
from local.verify.raised import raised
from local.verify.retries import Call, calls, endless, over_limits, roots
from local.verify.settings import Settings
from local.verify.sizes import sizes
from local.verify.undo import undo
from local.verify.unreached import unreached
from local.verify.variables import variables
from local.verify.wellformed import wellformed
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
    worst, flows = Worst(world), Flows(world)
    found = calls(world, settings)
    costs = {machine.name: worst.of(machine) for machine in world.machines.values()}
    findings = set(over_limits(found, settings))
    for machine in world.machines.values():
        findings |= set(_rules(world, machine, worst, flows))
        findings |= set(limits(machine, costs[machine.name], settings))
    if not any(finding.rule == "bounds" for finding in findings):
        # Else these follow from what is named where it stands
        for machine in world.machines.values():
            findings |= set(unreached(machine, worst))
        findings |= {one for m in roots(world) for one in endless_figures(m, costs[m.name])}
        findings |= {one for call in found for one in endless(call)}
    return Verdict(costs, found, sorted(findings))


def _rules(world: World, machine: Machine, worst: Worst, flows: Flows) -> Iterator[Finding]:
    yield from foreign(world, machine)
    yield from guard(world, machine)
    yield from bounds(machine, worst)
    yield from policies(world, machine)
    yield from undo(world, machine)
    yield from wellformed(machine)
    yield from variables(world, machine)
    yield from raised(world, machine)
    yield from sizes(world, machine)
    yield from contracts(world, machine, flows)
