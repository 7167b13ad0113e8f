"""Faults at the edge: a fake that is watched calls `watch` around each of its operations."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

Watch = Callable[[str], None]
"""Called with "before settle", "after settle" and so on."""

P = ParamSpec("P")
R = TypeVar("R")


class Killed(BaseException):
    """The process died here: nothing after it runs, no `except Exception` sees it."""


def unwatched(_moment: str) -> None:
    """Let everything pass."""


@dataclass(kw_only=True)
class Watched:
    """A fake whose operations call `watch` before and after they act.

    Attributes:
        watch: called with "before settle", "after settle" and so on; it may raise.
    """

    watch: Watch = unwatched


W = TypeVar("W", bound=Watched)


class Watching:
    """The real thing, with a watch around each of its operations.

    Args:
        real: what does the work.
        watch: called with "before settle", "after settle" and so on; it may raise.
    """

    def __init__(self, real: object, watch: Watch) -> None:
        self._real = real
        self._watch = watch

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation: Callable[..., Any] = getattr(self._real, name)

        def around(*args: object, **kwargs: object) -> Any:
            self._watch(f"before {name}")
            result = operation(*args, **kwargs)
            self._watch(f"after {name}")
            return result

        return around


def killed(moment: str, times: int = 1) -> Watch:
    """A watch that kills the process at a moment such as "after settle", so many times."""
    return raising(moment, Killed(moment), times)


def raising(moment: str, error: BaseException, times: int = 1) -> Watch:
    """A watch that raises the error at a moment, so many times."""
    left = [times]

    def watch(now: str) -> None:
        if now == moment and left[0] > 0:
            left[0] -= 1
            raise error

    return watch


def watched(
    operation: Callable[Concatenate[W, P], R],
) -> Callable[Concatenate[W, P], R]:
    name = operation.__name__

    def around(self: W, /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.watch(f"before {name}")
        result = operation(self, *args, **kwargs)
        self.watch(f"after {name}")
        return result

    update_wrapper(around, operation)
    return around
