"""What verification refuses, and why."""

from dataclasses import dataclass
from typing import Literal

Rule = Literal["guard", "bounds", "retries", "undo", "data", "contracts", "limits", "foreign"]


@dataclass(frozen=True, order=True)
class Finding:
    """One refusal.

    Attributes:
        machine: name of the machine.
        rule: the rule that is broken.
        path: names of the states that lead there, from the first one.
        sentence: what is wrong there, and what would be right.
        note: it says what could not be judged; it refuses nothing.
    """

    machine: str
    rule: Rule
    path: tuple[str, ...]
    sentence: str
    note: bool = False

    def __str__(self) -> str:
        return f"{self.machine}: {' → '.join(self.path)}: {self.sentence} [{self.rule}]"
