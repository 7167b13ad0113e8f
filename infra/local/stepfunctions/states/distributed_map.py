"""Distributed Map: a child execution for each item or batch of items."""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from local.constants import PAYLOAD_BYTES
from local.stepfunctions.commands import RunMap
from local.stepfunctions.errors import DATA_LIMIT, EvaluationError, StatesError
from local.stepfunctions.expressions import Scope
from local.stepfunctions.flow import fail, leave, too_large
from local.stepfunctions.jsontext import Json, JsonValue, dumps
from local.stepfunctions.mapruns.spec import MOST_AT_ONCE, Batching, MapSpec
from local.stepfunctions.payloads import Payload, expect
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.run import Task as Attempt
from local.stepfunctions.states.answered import Answered
from local.stepfunctions.states.base import Compile
from local.stepfunctions.states.map_state import NUMBERS, Map, not_negative

_ALL: Final = 100


class DistributedMap(Map, Answered):
    """A Map whose processor's mode is DISTRIBUTED."""

    def read(self, fields: Mapping[str, Any], compile_program: Compile) -> None:
        """Compile what an inline Map has, and reader, batcher and writer."""
        super().read(fields, compile_program)
        processor = dict(fields.get("ItemProcessor") or fields["Iterator"])
        config = processor.pop("ProcessorConfig", {})
        self._express = config.get("ExecutionType") == "EXPRESS"
        language = processor.get("QueryLanguage", "JSONata" if self.jsonata else "JSONPath")
        self._definition = dumps({**processor, "QueryLanguage": language})
        self._label = fields.get("Label")
        self._reader = self._block(fields, "ItemReader")
        self._batcher = self._block(fields, "ItemBatcher")
        self._writer = self._block(fields, "ResultWriter")

    def _block(self, fields: Mapping[str, Any], name: str) -> Payload | None:
        return self.payload(fields[name], name) if name in fields else None

    def enter(self, run: Run, strand: Strand) -> None:
        """Begin a map run; a redrive goes on with the one that failed.

        Raises:
            StatesError: there is nothing to map over.
        """
        scope = run.scope(strand)
        items = None if self._reader is not None else self._array(strand, scope)
        numbers = self.evaluate_numbers(scope)
        run.record(strand, "MapStateStarted", {"length": len(items or ())})
        again = strand.map_run is not None and strand.map_redrives < run.redrives
        arn = strand.map_run if again and strand.map_run else self._arn(run)
        strand.map_run, strand.map_redrives = arn, run.redrives
        kind = "MapRunRedriven" if again else "MapRunStarted"
        details: dict[str, Any] = {"mapRunArn": arn}
        if again:
            details["redriveCount"] = run.redrives
        run.record(strand, kind, details)
        attempt = Attempt(run.number(), strand, None)
        run.tasks[attempt.number] = attempt
        strand.task = attempt
        spec = self._spec(run, strand, scope, items, numbers, again=again)
        run.commands.append(RunMap(attempt.number, spec))

    def _arn(self, run: Run) -> str:
        random = run.ambience.random()
        name = uuid.UUID(int=random.getrandbits(128), version=4)
        label = self._label or uuid.UUID(int=random.getrandbits(128), version=4)
        machine = run.identity.machine_arn.replace(":stateMachine:", ":mapRun:")
        return f"{machine}/{label}:{name}"

    def _spec(
        self,
        run: Run,
        strand: Strand,
        scope: Scope,
        items: list[Any] | None,
        numbers: Mapping[str, Any],
        *,
        again: bool,
    ) -> MapSpec:
        arn = strand.map_run or ""
        return MapSpec(
            arn=arn,
            label=arn.split("/", 1)[1].split(":", 1)[0],
            items=items,
            reader=None if self._reader is None else self._reader(scope),
            select=self._selecting(run, strand),
            batching=self._batching(scope),
            concurrency=min(numbers.get("MaxConcurrency") or MOST_AT_ONCE, MOST_AT_ONCE),
            tolerated_count=numbers.get("ToleratedFailureCount"),
            tolerated_share=numbers.get("ToleratedFailurePercentage"),
            writer=None if self._writer is None else self._writer(scope),
            definition=self._definition,
            express=self._express,
            again=again,
        )

    def _selecting(self, run: Run, strand: Strand) -> Any:
        selector = self._selector
        if selector is None:
            return None

        def select(index: int, value: JsonValue) -> JsonValue:
            before, strand.item = strand.item, {"Index": index, "Value": value}
            try:
                return selector(run.scope(strand))
            finally:
                strand.item = before

        return select

    def _batching(self, scope: Scope) -> Batching | None:
        if self._batcher is None:
            return None
        batcher = self._batcher(scope)
        for name in ("MaxItemsPerBatch", "MaxInputBytesPerBatch"):
            value = batcher.get(name)
            if value is not None and (not isinstance(value, int | float) or value < 1):
                raise EvaluationError(f"The {name} field must be positive but was: {value}", name)
        most_bytes = batcher.get("MaxInputBytesPerBatch")
        return Batching(
            most_items=batcher.get("MaxItemsPerBatch"),
            most_bytes=PAYLOAD_BYTES if most_bytes is None else min(most_bytes, PAYLOAD_BYTES),
            batch_input=batcher.get("BatchInput"),
        )

    def succeeded(self, run: Run, strand: Strand, result: Json) -> None:
        """All children ended, as many well as had to: leave with their outputs."""
        if result.exceeds(PAYLOAD_BYTES):
            self.failed(run, strand, StatesError(DATA_LIMIT, too_large(self.name)))
            return
        started = strand.last
        if strand.task is not None:
            run.end_task(strand.task)
        ended = run.note("MapRunSucceeded", {}, started)
        run.note("MapStateSucceeded", {}, ended)
        strand.map_run = None
        try:
            leave(run, strand, run.scope(strand, result=result.data), result)
        except StatesError as error:
            fail(run, strand, error)

    def failed(self, run: Run, strand: Strand, error: StatesError) -> None:
        """The map run failed: retry, catch or fail."""
        if strand.task is not None:
            run.end_task(strand.task)
        named = {"error": error.error, "cause": error.cause}
        details = {key: value for key, value in named.items() if value is not None}
        run.record(strand, "MapRunFailed", details)
        fail(run, strand, error)

    def evaluate_numbers(self, scope: Scope) -> dict[str, Any]:
        """As an inline Map's, and the tolerated share held to 0 to 100.

        Raises:
            StatesError: one is no number, or is out of its range.
        """
        numbers: dict[str, Any] = {}
        for name, (payload, source) in self._numbers.items():
            kind = "number" if name == NUMBERS[-1] else "integer"
            numbers[name] = not_negative(expect(payload, scope, kind, source, name), name)
        share = numbers.get(NUMBERS[-1])
        if share is not None and share > _ALL:
            sentence = f"The {NUMBERS[-1]} field must be from 0 to 100 but was: {share}"
            raise EvaluationError(sentence, NUMBERS[-1])
        return numbers
