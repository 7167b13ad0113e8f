"""Some states and where they start: a machine, a branch, an item processor."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local.stepfunctions.states.base import State


@dataclass(frozen=True, slots=True)
class Program:
    """States by name.

    Attributes:
        start_at: the first state.
        states: all of them.
    """

    start_at: str
    states: "Mapping[str, State]"
