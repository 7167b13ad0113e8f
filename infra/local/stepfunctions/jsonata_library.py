"""Compiled JSONata, kept by thread.

A compiled expression of jsonatapy may be used and freed only in the thread that made it, and
Python's garbage collector frees in whichever thread it happens to run. So each thread keeps its
own for good, by their text; nobody else holds one.
"""

import threading
from typing import Any, Final

import jsonatapy

_MOST: Final = 10_000


class Library(threading.local):
    """The compiled expressions of this thread, and the ambience of the evaluation under way.

    Attributes:
        ambience: what functions of the expression being evaluated may know.
    """

    def __init__(self) -> None:
        self.ambience: Any = None
        self._compiled: dict[str, Any] = {}

    def find(self, source: str) -> Any:
        """The compiled expression of a text, None when this thread has none."""
        return self._compiled.get(source)

    def compile(self, source: str) -> Any:
        """Compile a text and keep it.

        Raises:
            ValueError: it is not JSONata.
        """
        if len(self._compiled) >= _MOST:
            self._compiled.clear()
        # Past the wrapper: it adds a Python call to each evaluation and nothing else.
        compiled = jsonatapy.compile(source)._expr
        self._compiled[source] = compiled
        return compiled


library: Final = Library()
