"""Threads of which one runs at a time, each up to its next call to the world outside.

A test decides who goes on, so every order of calls can be had, the same again for the same
decisions. Nothing here looks at the real time.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from watching import Killed

Fault = str | None
"""What goes wrong at the call an actor stands at."""


@dataclass(eq=False)
class Process:
    """What dies together: the threads of one invocation.

    Attributes:
        ended: called with the result, or the error, of the first of its actors.
    """

    name: str
    ended: Callable[[Any, BaseException | None], None] = lambda _result, _error: None
    dead: bool = False


@dataclass(eq=False)
class Actor:
    """One thread; it stands at a call, or waits until something holds."""

    name: str
    process: Process
    main: bool
    work: Callable[[], Any]
    at: str = "start"
    until: Callable[[], bool] = lambda: True
    fault: Fault = None
    done: bool = False
    result: Any = None
    error: BaseException | None = None
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


class Scheduler:
    """Hands the turn to one actor at a time."""

    def __init__(self) -> None:
        self.actors: list[Actor] = []
        self.trace: list[str] = []
        self.quiet = False
        self._back = threading.Semaphore(0)
        self._here = threading.local()

    def note(self, what: str) -> None:
        """Remember what happened, for whoever has to find out why."""
        if not self.quiet:
            self.trace.append(what)

    def spawn(self, process: Process, work: Callable[[], Any], name: str, *, main: bool) -> Actor:
        """A new actor, which stands at its start."""
        actor = Actor(name, process, main, work)
        self.actors.append(actor)
        threading.Thread(target=self._live, args=(actor,), name=name, daemon=True).start()
        return actor

    def start(self, process: Process, work: Callable[[], Any]) -> None:
        """The first actor of a process."""
        self.spawn(process, work, process.name, main=True)

    @property
    def actor(self) -> Actor | None:
        """Who runs now; None where the test itself does."""
        return getattr(self._here, "actor", None)

    def point(self, at: str, until: Callable[[], bool] = lambda: True) -> Fault:
        """Hand over the turn ahead of a call; what shall go wrong with the call."""
        actor = self.actor
        if actor is None:
            return None
        if actor.process.dead:
            raise Killed(at)
        actor.at, actor.until, actor.fault = at, until, None
        self._back.release()
        actor.turn.acquire()
        if actor.process.dead:
            raise Killed(at)
        return actor.fault

    def ready(self) -> list[Actor]:
        """Who can go on."""
        return [actor for actor in self.actors if actor.until()]

    def run(self, actor: Actor, fault: Fault = None) -> None:
        """Let an actor make the call that it stands at and go on to the next."""
        self.note(f"{actor.name}: {actor.at}{f' [{fault}]' if fault else ''}")
        actor.fault = fault
        actor.turn.release()
        self._back.acquire()
        if not actor.done:
            return
        self.actors.remove(actor)
        if isinstance(actor.error, AssertionError):
            raise actor.error
        if actor.main:
            actor.process.ended(actor.result, actor.error)

    def kill(self, process: Process) -> None:
        """End a process where it stands."""
        self.note(f"{process.name}: dies")
        process.dead = True
        for actor in [actor for actor in self.actors if actor.process is process]:
            while not actor.done:
                self.run(actor)

    def clear(self) -> None:
        """End everything that is left, and tell nobody."""
        for actor in list(self.actors):
            actor.process.ended = lambda _result, _error: None
            self.kill(actor.process)

    def _live(self, actor: Actor) -> None:
        self._here.actor = actor
        actor.turn.acquire()
        try:
            if not actor.process.dead:
                actor.result = actor.work()
            else:
                actor.error = Killed("start")
        except BaseException as error:  # noqa: BLE001  # whatever ends it is handed to the test
            actor.error = error
        actor.done = True
        self._back.release()


class Threading:
    """What `autoops.calls` uses of the module `threading`: its lease threads are actors too.

    Args:
        scheduler: who hands out turns.
        alarm: a condition that holds so many seconds from now.
    """

    def __init__(self, scheduler: Scheduler, alarm: Callable[[float], Callable[[], bool]]) -> None:
        self._scheduler = scheduler
        self._alarm = alarm

    def Event(self) -> "_Event":  # noqa: N802  # the module's name
        return _Event(self._scheduler, self._alarm)

    def Thread(self, *, target: Callable[[], None], name: str, daemon: bool) -> "_Thread":  # noqa: N802, ARG002
        return _Thread(self._scheduler, target, name)


class _Event:
    def __init__(self, scheduler: Scheduler, alarm: Callable[[float], Callable[[], bool]]) -> None:
        self._scheduler, self._alarm, self._set = scheduler, alarm, False

    def set(self) -> None:
        self._set = True

    def wait(self, timeout: float) -> bool:
        rings = self._alarm(timeout)
        self._scheduler.point("wait", lambda: self._set or rings())
        return self._set


class _Thread:
    def __init__(self, scheduler: Scheduler, target: Callable[[], None], name: str) -> None:
        self._scheduler, self._target, self._name = scheduler, target, name
        self._actor: Actor | None = None

    def start(self) -> None:
        parent = self._scheduler.actor
        assert parent is not None
        name = f"{parent.name}'s {self._name}"
        self._actor = self._scheduler.spawn(parent.process, self._target, name, main=False)

    def join(self) -> None:
        actor, parent = self._actor, self._scheduler.actor
        assert actor is not None
        assert parent is not None
        if not (actor.done or parent.process.dead):
            self._scheduler.point("join", lambda: actor.done)
