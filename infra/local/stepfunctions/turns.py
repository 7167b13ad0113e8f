"""Whose turn it is: what happened to executions, in the order in which it is served."""

from collections import deque
from typing import Final

from local.stepfunctions.commands import Incoming
from local.stepfunctions.live import Happening, Live

_FEWEST: Final = 4
_MOST: Final = 16
"""Happenings in one turn: more the longer some are left over, for each turn has its price; few
as long as there is little to do, because those of one turn stay together."""
_IN_A_ROW: Final = 64
"""After so many turns those who wait come first once, whoever is being served."""


class Turns:
    """First come, first served, and who is being served is served until it has to wait.

    An execution whose task answers at once goes on before others get a turn, so executions that
    woke at the same moment do not move in step, each as late as the last of them, but one after
    the other. What happens to one execution is served in the order in which it happened.
    """

    def __init__(self) -> None:
        self._number = 0
        self._size = _FEWEST
        self._going: deque[Live] = deque()
        self._waiting: deque[Live] = deque()

    def any(self) -> bool:
        """Whether something happened that was not served."""
        return bool(self._going or self._waiting)

    def add(self, live: Live, incoming: Incoming, at: int) -> None:
        """Note what happened to an execution at a moment, in milliseconds."""
        if not live.inbox:
            served = self._number - live.moved <= 1
            (self._going if served else self._waiting).append(live)
        live.inbox.append((incoming, at))

    def moved(self, live: Live) -> None:
        """Note that the commands of an execution are being carried out: it is being served."""
        live.moved = self._number

    def next(self) -> list[Happening]:
        """The happenings of one turn; they are off the list."""
        self._number += 1
        if self._number % _IN_A_ROW == 0:
            self._waiting.extend(self._going)
            self._going.clear()
        turn: list[Happening] = []
        for queue in (self._going, self._waiting):
            while queue and len(turn) < self._size:
                live = queue[0]
                turn.append((live, *live.inbox.popleft()))
                if not live.inbox:
                    queue.popleft()
        grown = self._size + (1 if self.any() else -1)
        self._size = max(_FEWEST, min(_MOST, grown))
        return turn

    def clear(self) -> None:
        """Forget everything."""
        for queue in (self._going, self._waiting):
            for live in queue:
                live.inbox.clear()
            queue.clear()
