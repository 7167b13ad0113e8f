"""The worst case of one execution: the dearest way through its counted states, and all in them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import networkx as nx

from autoops.calls import UNKNOWN_REPEATS
from autoops.domain.forms import output_tokens
from autoops.domain.pricing import MILLION, Tier, price_of
from autoops.errors import UnpricedModel
from local.verify.cost import FIGURES, NOTHING, Cost, largest, unbounded
from local.verify.counting import Counting, Node, TooManyWaysError
from local.verify.expressions import at_most, constant, variable
from local.verify.machine import EXIT, NESTED, Machine, Program, State
from local.verify.tries import most_asking, most_delay, most_seconds, most_tries
from local.verify.world import Function, World

Json = Any
Numbers = Mapping[str, int]
INLINE_AT_ONCE: Final = 40
"""Items that an inline Map without MaxConcurrency runs at the same time, by AWS's word."""
MONEY: Final = ("requests", "tokens", "dollars")


@dataclass
class Worst:
    """Computes worst cases.

    Attributes:
        world: the machines and what is around them.
        only: count requests, tokens, dollars and seconds of this state alone.
        one: count one item of each Map and of each request that is made for every item.
        counted: the counted ways that are known already; what counts in the same world shares it.
    """

    world: World
    only: State | None = None
    one: bool = False
    counted: dict[Any, Counting] = field(default_factory=dict, repr=False)
    _known: dict[Any, Cost] = field(default_factory=dict, repr=False)
    _open: list[str] = field(default_factory=list, repr=False)

    def of(self, machine: Machine, inputs: Numbers | None = None) -> Cost:
        """The worst case of a machine, from what its callers hand over when none is given."""
        if inputs is None:
            return largest(self.of(machine, one) for one in self.calls_of(machine))
        key = (machine.arn, *sorted(inputs.items()))
        if key not in self._known:
            self._known[key] = self._computed(machine, inputs)
        return self._known[key]

    def calls_of(self, machine: Machine) -> list[Numbers]:
        """The numbers that each caller writes into the machine's input; one without for none."""
        callers = [_numbers(state, {}) for _, state in self.world.parents(machine)]
        return callers or [{}]

    def counting(self, machine: Machine, program: Program, inputs: Numbers) -> Counting:
        """The counted ways through a program of a machine."""
        key = (machine.arn, program.place, program.start, *sorted(inputs.items()))
        if key not in self.counted:
            self.counted[key] = Counting(
                program=program,
                inputs=inputs,
                ceilings=self.world.ceilings_in(program),
                life=machine.timeout,
            )
        return self.counted[key]

    def _computed(self, machine: Machine, inputs: Numbers) -> Cost:
        if machine.arn in self._open:
            return unbounded(FIGURES, f"{machine.name} starts itself")
        self._open.append(machine.arn)
        inside = self._program(machine, machine.program, inputs)
        self._open.pop()
        whole = inside + Cost(events=2)
        ceiling = self.world.ceilings.get(machine.arn)
        tokens = None if ceiling is None else self._tokens_for(machine, ceiling)
        return whole.capped(seconds=machine.timeout, dollars=ceiling, tokens=tokens)

    def _tokens_for(self, machine: Machine, ceiling: int) -> float | None:
        """Tokens that a ceiling pays for at most, None where some of them may cost nothing."""
        models = {
            model
            for one in self.world.reached(machine)
            for state in one.states()
            if self.world.asks_model(state)
            for model in self._models(state)
        }
        rates = [_cheapest(model) for model in models]
        return ceiling * MILLION / min(rates) if rates and all(rates) else None

    def _models(self, state: State) -> tuple[str, ...]:
        function = self.world.function(state)
        return function.models if function and function.models else ("",)

    def _program(self, machine: Machine, program: Program, inputs: Numbers) -> Cost:
        counting = self.counting(machine, program, inputs)
        try:
            graph = counting.graph
        except TooManyWaysError:
            where = "/".join([machine.name, *program.place])
            return unbounded(FIGURES, f"{where} has too many states times counters to look at")
        costs: dict[Any, Cost] = {}
        of_node: dict[Node, Cost] = {}
        for node in graph:
            values = _numbers_at(counting, program, node)
            key = (node[0], *sorted(values.items()))
            if key not in costs:
                costs[key] = self._state(machine, program, node[0], values)
            of_node[node] = costs[key]
        return _dearest(graph, of_node)

    def _state(self, machine: Machine, program: Program, name: str, values: Numbers) -> Cost:
        if name == EXIT:
            return NOTHING
        state = program.states[name]
        match state.type:
            case "Task":
                cost = self._task(state, values)
            case "Map":
                cost = self._map(machine, state)
            case "Parallel":
                cost = self._parallel(machine, state)
            case "Wait":
                cost = _wait(state)
            case _:
                cost = NOTHING
        if self.only is not None and state is not self.only and not _holds(self.world, state):
            cost = cost.without(*MONEY, "seconds")
        return cost + _entered(state)

    def _task(self, state: State, values: Numbers) -> Cost:
        tries = most_tries(state)
        events = tries * (4 if state.is_callback or state.is_sync else 3)
        own = Cost(
            seconds=most_seconds(state) * tries + most_delay(state),
            transitions=tries - 1,
            events=events,
        )
        if math.isinf(own.seconds):
            why = f"{'/'.join(state.path)} has no TimeoutSeconds"
            own = replace(own, why=frozenset({("seconds", why)}))
        child = self.world.child(state)
        if child is not None:
            return self._child(state, child, values, own)
        if state.resource.startswith(NESTED):
            unknown = f"{'/'.join(state.path)} starts a machine that is not here"
            return own + unbounded((*MONEY, "transitions"), unknown) + Cost(children=tries)
        return own + self._asking(state)

    def _child(self, state: State, child: Machine, values: Numbers, own: Cost) -> Cost:
        tries = most_tries(state)
        inside = self.of(child, _numbers(state, values))
        waits = inside.seconds if state.is_sync else 0
        started = inside.without("events", "seconds").times(tries) + Cost(children=tries)
        if waits < most_seconds(state):
            own = replace(own.without("seconds"), seconds=waits * tries + most_delay(state))
        return own + started

    def _asking(self, state: State) -> Cost:
        if not self.world.asks_model(state) or self.only not in (None, state):
            return NOTHING
        where = "/".join(state.path)
        function = self.world.function(state) or Function(name=where)
        asking = most_asking(state)
        items = self._items(state, function)
        if items is None:
            why = f"{where}: nothing says how many items {function.per_item} has at most"
            return unbounded(MONEY, why)
        paid = min(asking, 1 + UNKNOWN_REPEATS) if function.step else asking
        return Cost(requests=asking * items) + _price(where, function).times(paid * items)

    def _items(self, state: State, function: Function) -> int | None:
        """Requests of one attempt of the handler."""
        if not function.per_item or self.one:
            return 1
        value = state.input.get(function.per_item)
        if isinstance(value, list):
            return len(value)
        fields = (function.takes.fields if function.takes else None) or {}
        return fields[function.per_item].most if function.per_item in fields else None

    def _parallel(self, machine: Machine, state: State) -> Cost:
        found = Cost(events=2)
        for branch in state.inner:
            found = found.beside(self._program(machine, branch, {}))
        tries = most_tries(state)
        return found.times(tries) + Cost(seconds=most_delay(state), transitions=tries - 1)

    def _map(self, machine: Machine, state: State) -> Cost:
        tries = most_tries(state)
        around = 4 if state.distributed else 2
        own = Cost(seconds=most_delay(state), transitions=tries - 1, events=around * tries)
        item = self.item(machine, state)
        most = self.most_items(machine, state)
        if most is None:
            sentence = f"{'/'.join(state.path)}: nothing says how many items it has at most"
            concerned = [name for name in FIGURES if getattr(item, name)]
            return own + unbounded(
                {*concerned, "children"} if state.distributed else concerned, sentence
            )
        return own + self._items_of(state, item, 1 if self.one else most).times(tries)

    def item(self, machine: Machine, state: State) -> Cost:
        """The worst case of one item of a Map."""
        inside = [self._program(machine, one, {}) for one in state.inner]
        return inside[0] if inside else NOTHING

    def _items_of(self, state: State, item: Cost, most: int) -> Cost:
        at_once = at_most(state.body.get("MaxConcurrency")) or most
        if not state.distributed:
            at_once = min(at_once, INLINE_AT_ONCE)
        rounds = math.ceil(most / max(1, at_once))
        count = item.times(most)
        seconds = item.seconds * rounds if item.seconds else 0
        if state.distributed:
            count = replace(count.without("events"), children=count.children + most)
        else:
            count += Cost(events=2 * most)
        return replace(count, seconds=seconds)

    def most_items(self, machine: Machine, state: State) -> int | None:
        """How many items a Map has at most, None where nothing says so."""
        items = state.body.get("Items")
        if isinstance(items, list):
            return len(items)
        reader = state.body.get("ItemReader") or {}
        read = constant((reader.get("ReaderConfig") or {}).get("MaxItems"))
        if read is not None:
            return read
        return self.world.longest(machine, state, items)


def _numbers(state: State, values: Numbers) -> Numbers:
    """Numbers that a state writes into the input of the machine it starts."""
    given = state.arguments.get("Input")
    found: dict[str, int] = {}
    for key, value in given.items() if isinstance(given, Mapping) else ():
        number = constant(value)
        if number is None:
            number = values.get(variable(value) or "")
        if number is not None:
            found[key] = number
    return found


def _numbers_at(counting: Counting, program: Program, node: Node) -> Numbers:
    name, _ = node
    state = program.states.get(name)
    if state is None or not state.arguments.get("Input"):
        return {}
    return {key: value for key, value in counting.values_of(node).items() if value is not None}


def _dearest(graph: "nx.DiGraph[Node]", costs: Mapping[Node, Cost]) -> Cost:
    """The dearest way, each figure by itself; a cycle costs what is on it without end."""
    whole = nx.condensation(graph)
    best: dict[int, Cost] = {}
    for one in nx.topological_sort(whole):
        members = whole.nodes[one]["members"]
        before = largest(best[other] for other in whole.predecessors(one))
        best[one] = before + _component(graph, members, costs)
    return largest(best.values())


def _component(graph: "nx.DiGraph[Node]", members: set[Node], of_node: Mapping[Node, Cost]) -> Cost:
    costs = [of_node[node] for node in members]
    first = next(iter(members))
    if len(members) == 1 and not graph.has_edge(first, first):
        return costs[0]
    names = " → ".join(dict.fromkeys(sorted(name for name, _ in members)))
    whole = largest(costs)
    figures = [name for name in FIGURES if getattr(whole, name)]
    return unbounded(figures, f"nothing ends the cycle through {names}")


def _entered(state: State) -> Cost:
    return Cost(transitions=1, events=1 if state.type == "Fail" else 2)


def _wait(state: State) -> Cost:
    most = at_most(state.body.get("Seconds"))
    if most is not None:
        return Cost(seconds=most)
    return unbounded(("seconds",), f"{'/'.join(state.path)}: nothing says how long it waits")


def _price(where: str, function: Function) -> Cost:
    """Tokens and money of one request."""
    if not function.models:
        return unbounded(("tokens", "dollars"), f"{where}: which model it asks is not known")
    costs = []
    for model in function.models:
        try:
            costs += [_of_model(model, tier, function.most_output) for tier in function.tiers]
        except UnpricedModel:
            return unbounded(("tokens", "dollars"), f"{where}: {model} has no price")
    return largest(costs)


def _of_model(model: str, tier: Tier, most_output: int | None) -> Cost:
    price = price_of(model)
    wanted = price.context if most_output is None else output_tokens(model, most_output)
    output = min(wanted, price.context)
    both = price.worst_case(price.context - output, output, tier)
    return Cost(tokens=price.context, dollars=max(both, price.worst_case(price.context, 0, tier)))


def _cheapest(model: str) -> int:
    """Nano-dollars that a million tokens of a model cost at least, 0 where that is not known."""
    try:
        price = price_of(model)
    except UnpricedModel:
        return 0
    kinds = [(one.input, one.output, one.cache_read) for one in (price, *price.tiers.values())]
    return min(rate for rates in kinds for rate in rates if rate) if any(map(any, kinds)) else 0


def _holds(world: World, state: State) -> bool:
    """Whether something inside a state, or in a machine that it starts, may be counted."""
    return bool(state.inner) or world.child(state) is not None
