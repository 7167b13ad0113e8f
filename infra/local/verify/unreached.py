"""Every state is reached, with the counters and bounds that there are."""

from collections.abc import Iterator

from local.verify.counting import TooManyWaysError
from local.verify.findings import Finding
from local.verify.machine import EXIT, Machine, Program
from local.verify.ways import shortest
from local.verify.worst import Worst


def unreached(machine: Machine, worst: Worst) -> Iterator[Finding]:
    """States that no way leads to, or none with the numbers that callers hand over."""
    for program in machine.program.everywhere():
        led = _led_to(program)
        counted = _counted(machine, program, worst)
        for name in program.states:
            way = (*program.place, *shortest(program, name))
            if name not in led:
                yield Finding(machine.name, "data", (*program.place, name), "no way leads here")
            elif name not in counted:
                sentence = (
                    "is never reached: a Choice on this way never takes it, or a step refuses"
                    " the numbers that it is handed"
                )
                yield Finding(machine.name, "data", way, sentence)


def _led_to(program: Program) -> set[str]:
    reached, waiting = {program.start}, [program.start]
    while waiting:
        for edge in program.states[waiting.pop()].edges:
            if edge.target != EXIT and edge.target not in reached:
                reached.add(edge.target)
                waiting.append(edge.target)
    return reached


def _counted(machine: Machine, program: Program, worst: Worst) -> set[str]:
    found: set[str] = set()
    for inputs in worst.calls_of(machine):
        try:
            found |= {name for name, _ in worst.counting(machine, program, inputs).graph}
        except TooManyWaysError:
            return set(program.states)
    return found
