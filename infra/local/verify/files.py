"""Definitions given as files: those of the template narrow it, others are read by themselves."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from local.verify.machine import Machine, NotAMachineError, read_machine
from local.verify.world import World

SUFFIXES = (".asl.json", ".json")


def with_files(world: World, files: Sequence[Path]) -> World:
    """The machines of these files and what they start; all of the world when there are none.

    Raises:
        NotAMachineError: a file holds no machine.
    """
    if not files:
        return world
    machines: dict[str, Machine] = {}
    for file in files:
        known = [one for one in world.machines.values() if one.file and _same(one.file, file)]
        for machine in known or [_read(file)]:
            machines |= {one.arn: one for one in world.reached(machine)}
    return replace(world, machines=machines)


def _same(known: str, file: Path) -> bool:
    return Path(known).resolve() == file.resolve()


def _read(file: Path) -> Machine:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise NotAMachineError(f"{file}: cannot be read: {problem}") from None
    name = file.name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return read_machine(name, text, arn=str(file), file=str(file))
