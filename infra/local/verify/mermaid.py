"""Machines as Mermaid flowcharts, with what admits, what is guarded and what bounds the cycles."""

from collections.abc import Iterator

from local.verify.expressions import constant, expression, growth
from local.verify.machine import EXIT, Edge, Machine, Program, State
from local.verify.world import World


def as_mermaid(world: World) -> str:
    """A flowchart with a subgraph for each machine."""
    lines = ["flowchart TD"]
    for number, machine in enumerate(sorted(world.machines.values(), key=lambda one: one.name)):
        lines += _machine(world, machine, f"m{number}")
    lines += [
        "  classDef admits fill:#d5f5e3,stroke:#1e8449",
        "  classDef guarded fill:#fdebd0,stroke:#ca6f1e",
    ]
    return "\n".join(lines)


def _machine(world: World, machine: Machine, key: str) -> Iterator[str]:
    timeout = f"{machine.timeout} s" if machine.timeout is not None else "no bound"
    yield f'  subgraph {key}["{_text(machine.name)} ({timeout})"]'
    names = {id(state): f"{key}s{n}" for n, state in enumerate(machine.states())}
    for program in machine.program.everywhere():
        yield from _program(world, program, names, key)
    yield "  end"


def _program(world: World, program: Program, names: dict[int, str], key: str) -> Iterator[str]:
    for state in program.states.values():
        yield f"    {names[id(state)]}{_box(state)}{_class(world, state)}"
        for inner in state.inner:
            yield f"    {names[id(state)]} -.-> {names[id(inner.states[inner.start])]}"
    for edge in program.edges():
        source = names[id(program.states[edge.source])]
        leaves = edge.target == EXIT
        target = f"{key}end(( ))" if leaves else names[id(program.states[edge.target])]
        label = _text(_label(edge))
        arrow = f'-->|"{label}"|' if label else "-->"
        yield f"    {source} {arrow} {target}"


def _box(state: State) -> str:
    bound = constant(state.body.get("TimeoutSeconds", state.body.get("Seconds")))
    text = _text(state.name + (f" ({bound} s)" if bound is not None else ""))
    return f'{{"{text}"}}' if state.type == "Choice" else f'["{text}"]'


def _class(world: World, state: State) -> str:
    return ":::admits" if world.admits(state) else ":::guarded" if world.is_guarded(state) else ""


def _label(edge: Edge) -> str:
    counts = [
        f"{name} + {by}" for name, value in edge.assign.items() if (by := growth(name, value))
    ]
    rule = [expression(edge.rules[-1]) or ""] if edge.way == "rule" else []
    return ", ".join([*edge.errors, *rule, *counts])


def _text(text: str) -> str:
    return text.replace('"', "'")
