"""Work done by so many at once as may, a number that may change while it is done."""

from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from local.stepfunctions.driver import Driver


Piece = Callable[[], Coroutine[Any, Any, None]]
"""Work that begins when it is called: one that is cancelled before leaves nothing behind."""


class Pool:
    """Does pieces of work in their order.

    Args:
        driver: whose tasks the workers are; they count as busy, waiting for all does not.
        pieces: the work; a piece is asked for when there is room for it.
        most: how many are done at once.
    """

    def __init__(self, driver: "Driver", pieces: Iterator[Piece], most: int) -> None:
        self._driver = driver
        self._pieces = pieces
        self._most = most
        self._at_work = 0
        self._left = True
        self._problem: BaseException | None = None
        self._done: asyncio.Future[None] | None = None

    def resize(self, most: int) -> None:
        """Do so many at once from now on; pieces begun are finished."""
        self._most = most
        if self._done is not None:
            self._fill()

    async def run(self) -> None:
        """Do everything; what a piece raises ends the work and is raised here."""
        self._fill()
        if self._at_work:
            self._done = self._driver.park()
            await self._done
            self._done = None
        if self._problem is not None:
            raise self._problem

    def _fill(self) -> None:
        while self._left and self._at_work < self._most:
            piece = next(self._pieces, None)
            if piece is None:
                self._left = False
                return
            self._at_work += 1
            self._driver.spawn(self._work(piece))

    async def _work(self, piece: Piece) -> None:
        following: Piece | None = piece
        try:
            while following is not None:
                await following()
                following = self._following()
        except Exception as problem:  # noqa: BLE001 - raised again where the work was asked for
            self._problem, self._left = problem, False
        finally:
            self._at_work -= 1
            if not self._at_work and self._done is not None and not self._done.done():
                self._done.set_result(None)

    def _following(self) -> Piece | None:
        if not self._left or self._at_work > self._most:
            return None
        piece = next(self._pieces, None)
        self._left = piece is not None
        return piece
