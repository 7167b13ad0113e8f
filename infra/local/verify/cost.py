"""What something can cost at most, figure by figure; infinity where nothing bounds it, and why."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Final


@dataclass(frozen=True)
class Cost:
    """The most of each figure.

    Attributes:
        requests: to models.
        tokens: paid, in and out.
        dollars: nano-dollars.
        seconds: from begin to end.
        transitions: states entered and retries, as AWS bills them, children's among them.
        events: of the one history that they stand in.
        children: executions started.
        why: what bounds nothing: figure and sentence.
    """

    requests: float = 0
    tokens: float = 0
    dollars: float = 0
    seconds: float = 0
    transitions: float = 0
    events: float = 0
    children: float = 0
    why: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    def __add__(self, other: "Cost") -> "Cost":
        """One after the other."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in FIGURES}
        return Cost(**sums, why=self.why | other.why)

    def beside(self, other: "Cost") -> "Cost":
        """Both at the same time."""
        return replace(self + other, seconds=max(self.seconds, other.seconds))

    def times(self, count: float) -> "Cost":
        """So often, one after the other; nothing times infinity is nothing."""
        products = {
            name: value * count if (value := getattr(self, name)) and count else 0.0
            for name in FIGURES
        }
        return Cost(**products, why=self.why)

    def without(self, *names: str) -> "Cost":
        """The same with some figures at nothing."""
        gone: dict[str, float] = dict.fromkeys(names, 0.0)
        return replace(self, **gone, why=frozenset(one for one in self.why if one[0] not in names))

    def capped(self, **most: float | None) -> "Cost":
        """The same with figures that cannot pass a ceiling."""
        low = {name: m for name, m in most.items() if m is not None and getattr(self, name) > m}
        why = frozenset(one for one in self.why if one[0] not in low)
        return replace(self, **low, why=why) if low else self

    def reasons(self, name: str) -> list[str]:
        """Why a figure has no bound."""
        return sorted(sentence for figure, sentence in self.why if figure == name)


FIGURES: Final = tuple(one.name for one in fields(Cost) if one.name != "why")
NOTHING: Final = Cost()


def unbounded(names: Iterable[str], sentence: str) -> Cost:
    """A cost of which some figures have no bound."""
    found = tuple(names)
    return Cost(**dict.fromkeys(found, math.inf), why=frozenset((name, sentence) for name in found))


def largest(costs: Iterable[Cost]) -> Cost:
    """The largest of each figure; the figures may come from different costs."""
    found = NOTHING
    for cost in costs:
        figures = {name: max(getattr(found, name), getattr(cost, name)) for name in FIGURES}
        found = Cost(**figures, why=found.why | cost.why)
    return found
