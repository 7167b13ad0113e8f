"""Mistakes put into the protocol on purpose, and the smallest instance that finds each."""

from typing import Final, NamedTuple

from prove.admission_search import Explored, Instance, explore, programs


class Seed(NamedTuple):
    """A condition that is dropped, mistakes in programs, and where they show.

    Attributes:
        faults: each happens at most once.
        says: part of what the search says.
    """

    dropped: str
    mistakes: tuple[str, ...]
    faults: tuple[str, ...]
    calls: int
    ceiling: int
    says: str

    def search(self, *, sound: bool = False) -> Explored:
        """Look for it; or at the same instance without the mistake."""
        broken = programs() if sound else programs(self.dropped, *self.mistakes)
        faults = dict.fromkeys(self.faults, 1)
        return explore(Instance(broken, faults, runs=1, calls=self.calls, ceiling=self.ceiling))


SEEDS: Final = (
    Seed("money", (), (), 2, 2, "money below 0"),
    Seed("slot", (), (), 2, 4, "slots held are not those let in, or above the limit"),
    Seed("token", (), ("kill",), 2, 4, "waits for ever"),
    Seed("lease", (), ("tick", "abandon"), 1, 8, "WRONG: repeat"),
    Seed("attempt", (), ("tick", "abandon"), 1, 8, "an answer is not paid"),
    Seed("going", (), ("pause",), 2, 3, "WRONG: ask: granted"),
    Seed("going", (), ("stop",), 2, 3, "WRONG: ask: granted"),
    Seed("going", (), ("end",), 2, 3, "WRONG: ask: granted"),
    Seed("reason", (), ("pause",), 2, 3, "waits for no reason"),
    Seed("ticket", (), (), 2, 4, "tickets are not those of the calls that wait for a slot"),
    Seed("since", ("any asker",), ("double",), 2, 4, "waits for ever"),
    Seed("", ("lost alone",), ("tick", "abandon", "kill"), 1, 8, "WRONG: "),
)
