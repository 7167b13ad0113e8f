"""Runs of a world's machines in virtual time under faults that cost most, and what they came to."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, Final

from autoops.calls import UNKNOWN_REPEATS
from local.stepfunctions.clock import VirtualClock
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import ApiError, StatesError
from local.stepfunctions.events import Event
from local.stepfunctions.integrations.nested import start_execution
from local.stepfunctions.jsontext import Json as Text
from local.stepfunctions.tasks import TaskRequest
from local.verify.machine import Machine, State
from local.verify.tries import SILENT, retriers
from local.verify.world import World
from steps.embed_chunks.step import TEXTS as EMBEDDED

Json = Any
Say = Callable[[State, int], Json | str]
"""A state's last try gives its result or the name of an error; told how often it was asked."""
TIMEOUT: Final = "States.Timeout"
SHORT: Final = 0.001
"""So many seconds before its timeout a try ends."""


class Dearest:
    """Runs tasks so that each costs all it can: every retry is used, every try takes its time.

    Args:
        world: the machines and functions.
        say: decides what the last try of a state gives.
        pace: the part of its timeout that a try takes.
        random: with one, tries fail and last as it decides.
    """

    def __init__(
        self, world: World, say: Say, *, pace: float = 1.0, random: Random | None = None
    ) -> None:
        self.world = world
        self.say = say
        self.pace = pace
        self.random = random
        self.asked: Counter[str] = Counter()
        self.requests = self.paid = 0
        self.engine = Engine(self, clock=VirtualClock(), seed=1)
        self._states = {m.name: {s.name: s for s in m.states()} for m in world.machines.values()}
        self._arns = dict[str, str]()
        for machine in world.machines.values():
            arn = self.engine.create_state_machine(name=machine.name, definition=machine.text)
            self.engine.publish_version(arn)
            self._arns[machine.arn] = arn

    async def run(self, request: TaskRequest) -> Text:
        """Run one try."""
        state = self._states[request.execution_arn.split(":")[6].split("/")[0]][request.state]
        if self.world.child(state) is not None:
            return await self._start(state, request)
        fails = [name for one in retriers(state) for name in [min(one.errors)] * one.max_attempts]
        if self.random is not None and self.random.random() < 0.3:
            fails = []
        last = request.attempt >= len(fails)
        said = self._last(state) if last else fails[request.attempt]
        if self.world.asks_model(state):
            self._count(fails[: request.attempt], said, items=_items(state))
        share = self.pace if self.random is None else self.random.random()
        timeout = state.body["TimeoutSeconds"]
        await self.engine.clock.sleep((timeout - SHORT) * share if said != TIMEOUT else timeout + 1)
        if isinstance(said, str):
            raise StatesError(said, "on purpose")
        if request.token is None:
            return Text({"Payload": said})
        self._answer(request.token, said)
        return Text({})

    def _count(self, before: list[str], said: Json | str, items: int) -> None:
        """A request, and its money as long as the call's outcome may be unknown."""
        if isinstance(said, str) and said in SILENT:
            return
        self.requests += items
        if sum(name not in SILENT for name in before) <= UNKNOWN_REPEATS:
            self.paid += items

    def _last(self, state: State) -> Json | str:
        self.asked[state.name] += 1
        return self.say(state, self.asked[state.name])

    def _answer(self, token: str, said: Json) -> None:
        def answer() -> None:
            try:
                self.engine.send_task_success(token, json.dumps(said))
            except ApiError as late:
                assert late.code in ("TaskTimedOut", "TaskDoesNotExist")  # noqa: PT017

        self.engine.clock.call_at(self.engine.clock.now(), answer)

    async def _start(self, state: State, request: TaskRequest) -> Text:
        child = self.world.child(state)
        assert child is not None
        given = {**request.arguments.data, "StateMachineArn": self._arns[child.arn]}
        asked = request._replace(arguments=Text(given))
        return await start_execution(asked, request.resource.partition(".")[2])

    async def spend(self, machine: Machine, start: Mapping[str, Json]) -> dict[str, float]:
        """Run a machine to its end; what it came to."""
        arn = self.engine.start_execution(self._arns[machine.arn], json.dumps(start), "r1")
        await self.engine.run_to_end(arn)
        own = self.engine.history(arn)
        every = list(self._histories())
        return {
            "events": len(own),
            "seconds": (own[-1].timestamp - own[0].timestamp) / 1000,
            "transitions": sum(map(transitions, every)),
            "children": len(every) - 1,
            "requests": self.requests,
            "paid": self.paid,
        }

    def _histories(self) -> Iterable[list[Event]]:
        for machine in self.engine.machines:
            for summary in self.engine.summaries(machine):
                history = self.engine.history(summary["executionArn"])
                yield history
                for run in (e.details["mapRunArn"] for e in history if e.type == "MapRunStarted"):
                    for item in self.engine.map_run_executions(run):
                        yield self.engine.history(item["executionArn"])


def _items(state: State) -> int:
    """Requests of one try: EmbedChunks makes one for each text."""
    return EMBEDDED if state.name == "EmbedChunks" else 1


def transitions(history: list[Event]) -> int:
    """States entered, and retries, as AWS bills them."""
    types = Counter(event.type for event in history)
    entered = sum(count for name, count in types.items() if name.endswith("StateEntered"))
    retried = types["TaskScheduled"] - types["TaskStateEntered"]
    return entered + max(0, retried)
