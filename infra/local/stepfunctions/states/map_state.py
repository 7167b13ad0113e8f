"""Map: the same states for each item of an array."""

from collections.abc import Mapping
from typing import Any, Final

from local.stepfunctions.errors import RUNTIME, EvaluationError, StatesError
from local.stepfunctions.expressions import Scope
from local.stepfunctions.flow import leave
from local.stepfunctions.jsontext import Json, JsonValue
from local.stepfunctions.payloads import Payload, expect
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.states.base import Compile, State
from local.stepfunctions.states.fan_out import FanOut
from local.stepfunctions.states.parallel import joined

# Step Functions runs at most about so many iterations of an inline Map at once.
_MOST_AT_ONCE: Final = 40
NUMBERS: Final = ("MaxConcurrency", "ToleratedFailureCount", "ToleratedFailurePercentage")


def not_negative(value: float, name: str) -> float:
    """The value of a field that counts.

    Raises:
        StatesError: it is below 0.
    """
    if value < 0:
        raise EvaluationError(f"The {name} field must not be negative but was: {value}", name)
    return value


class Map(State):
    """Runs its processor for each item, inline."""

    kind = "Map"
    fails_with_event = True

    def read(self, fields: Mapping[str, Any], compile_program: Compile) -> None:
        """Compile Items, ItemSelector, the processor and the numbers."""
        self._processor = compile_program(fields.get("ItemProcessor") or fields["Iterator"])
        self._items = self.optional(fields, "Items")
        self._items_source = fields.get("Items")
        self._selector = self.optional(fields, "ItemSelector")
        self._numbers = {
            name: (self.payload(fields[name], name), fields[name])
            for name in NUMBERS
            if name in fields
        }

    def enter(self, run: Run, strand: Strand) -> None:
        """Start the iterations.

        Raises:
            StatesError: there is no array to iterate over.
        """
        scope = run.scope(strand)
        items = self._array(strand, scope)
        numbers = self.evaluate_numbers(scope)
        run.record(strand, "MapStateStarted", {"length": len(items)})

        def child(run: Run, fan: FanOut, index: int, came_from: int) -> Strand:
            return self._iteration(run, fan, index, came_from, items[index])

        most = min(numbers.get("MaxConcurrency") or _MOST_AT_ONCE, _MOST_AT_ONCE)
        total = len(items)
        strand.fan = FanOut(strand, total, most, child, self._finished, iterations=True)
        strand.fan.start(run)

    def evaluate_numbers(self, scope: Scope) -> dict[str, Any]:
        """MaxConcurrency and the tolerated failures, those that the state has.

        Raises:
            StatesError: one is no whole number, or is below 0.
        """
        return {
            name: not_negative(expect(payload, scope, "integer", source, name), name)
            for name, (payload, source) in self._numbers.items()
        }

    def _array(self, strand: Strand, scope: Scope) -> list[JsonValue]:
        if self._items is not None:
            items = expect(self._items, scope, "array", self._items_source, "Items")
            return list(items)
        if isinstance(strand.input.data, list):
            return strand.input.data
        sentence = f"Map state input must be an array but was: {strand.input.text}"
        if self.jsonata:
            raise EvaluationError(sentence, None)
        raise StatesError(RUNTIME, sentence)

    def _iteration(
        self, run: Run, fan: FanOut, index: int, came_from: int, item: JsonValue
    ) -> Strand:
        strand = fan.strand
        iteration = Strand(self._processor, fan, index)
        iteration.variables = strand.variables
        iteration.item = {"Index": index, "Value": item}
        iteration.last = came_from
        details = {"name": self.name, "index": index}
        run.record(iteration, "MapIterationStarted", details)
        given = Json(item) if self._selector is None else self._select(run, iteration, strand)
        run.ready.append((iteration, self._processor.start_at, given))
        return iteration

    def _select(self, run: Run, iteration: Strand, strand: Strand) -> Json:
        selector: Payload | None = self._selector
        if selector is None:
            raise AssertionError("the state has no ItemSelector")
        before = strand.item
        strand.item = iteration.item
        try:
            return Json(selector(run.scope(strand)))
        finally:
            strand.item = before

    def _finished(self, run: Run, strand: Strand, outputs: list[Json]) -> None:
        result = joined(outputs)
        leave(run, strand, run.scope(strand, result=result.data), result)
