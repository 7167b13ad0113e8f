"""Map runs: the child executions of Distributed Maps."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from local.stepfunctions.errors import ApiError, StatesError
from local.stepfunctions.jsontext import Json, JsonValue, dumps
from local.stepfunctions.machine import compile_machine
from local.stepfunctions.mapruns.batches import batches
from local.stepfunctions.mapruns.reader import read_items
from local.stepfunctions.mapruns.spec import MapSpec
from local.stepfunctions.mapruns.writer import write_results
from local.stepfunctions.names import check_arn
from local.stepfunctions.registry import Revision, StateMachine, Target
from local.stepfunctions.run import Run, Status
from local.stepfunctions.validation import parse_definition

if TYPE_CHECKING:
    from local.stepfunctions.engine import Engine

THRESHOLD: Final = "States.ExceedToleratedFailureThreshold"
_EXCEEDED: Final = "The specified tolerated failure threshold was exceeded"


@dataclass(slots=True)
class MapRun:
    """One map run, as DescribeMapRun tells of it; times are milliseconds."""

    arn: str
    execution_arn: str
    started: int
    concurrency: int
    tolerated_count: int
    tolerated_share: float
    status: str = "RUNNING"
    stopped: int | None = None
    redrives: int = 0
    redriven: int | None = None
    total: int = 0
    item_counts: list[int] = field(default_factory=list)
    outcomes: dict[int, str] = field(default_factory=dict)
    failures: int = 0
    stopping: bool = False

    def ended(self, index: int, status: str) -> None:
        """A child ended."""
        self.outcomes[index] = status
        self.failures += status != "SUCCEEDED"

    def too_many(self) -> bool:
        """Whether more children failed than may."""
        if self.failures <= self.tolerated_count:
            return False
        return not self.total or 100 * self.failures / self.total > self.tolerated_share

    def record(self) -> dict[str, Any]:
        """The map run as the journal keeps it."""
        return asdict(self)


class MapRuns:
    """All map runs of an engine.

    Args:
        engine: whose they are.
        clients: makes boto3 clients for readers and writers, None for none.
        keep: keeps an ended map run.
    """

    def __init__(
        self,
        engine: "Engine",
        clients: Callable[[str], Any] | None,
        keep: Callable[[MapRun], None],
    ) -> None:
        self._engine = engine
        self._clients = clients
        self._keep = keep
        self._runs: dict[str, MapRun] = {}

    def __iter__(self) -> Iterator[MapRun]:
        return iter(self._runs.values())

    def restore(self, record: dict[str, Any]) -> None:
        """Take up a map run that was kept."""
        outcomes = {int(index): status for index, status in record["outcomes"].items()}
        run = MapRun(**{**record, "outcomes": outcomes})
        self._runs[run.arn] = run

    def get(self, arn: str) -> MapRun:
        """The map run of an ARN.

        Raises:
            ApiError: InvalidArn, ResourceNotFound.
        """
        run = self._runs.get(check_arn(arn, "mapRun"))
        if run is None:
            raise ApiError("ResourceNotFound", f"Resource not found: '{arn}'")
        return run

    def stop(self, arn: str) -> None:
        """Stop a map run and its children: nobody waits for it any more."""
        run = self._runs.get(arn)
        if run is None or run.status != "RUNNING":
            return
        self._close(run, "ABORTED")
        self._stop_children(run)

    async def run(self, execution_arn: str, spec: MapSpec) -> Json:
        """Run a map to its end.

        Returns:
            The outputs in order, or what the ResultWriter wrote.

        Raises:
            StatesError: more children failed than may, or reading or writing failed.
        """
        run = self._begin(execution_arn, spec)
        try:
            inputs = await self._inputs(run, spec)
            children = await self._run_children(run, spec, inputs)
            _hold_threshold(run)
            result = await self._result(run, spec, children)
        except StatesError:
            if run.status == "RUNNING":
                self._close(run, "FAILED")
            raise
        self._close(run, "SUCCEEDED")
        return result

    def _begin(self, execution_arn: str, spec: MapSpec) -> MapRun:
        now = self._engine.clock.now()
        run = self._runs.get(spec.arn)
        if run is None:
            run = MapRun(
                spec.arn,
                execution_arn,
                now,
                spec.concurrency,
                spec.tolerated_count,
                spec.tolerated_share,
            )
            self._runs[spec.arn] = run
        elif spec.again:
            run.redrives += 1
            run.redriven = now
            run.outcomes.clear()
            run.failures = 0
        run.status, run.stopped, run.stopping = "RUNNING", None, False
        return run

    async def _inputs(self, run: MapRun, spec: MapSpec) -> list[JsonValue]:
        items = spec.items
        if items is None:
            reading = (self._clients, spec.reader or {})
            items = await asyncio.to_thread(read_items, *reading)
        select = spec.select
        if select is not None:
            items = [select(index, item) for index, item in enumerate(items)]
        inputs, run.item_counts = batches(items, spec.batching)
        run.total = len(inputs)
        return inputs

    async def _run_children(
        self, run: MapRun, spec: MapSpec, inputs: list[JsonValue]
    ) -> list[Run | None]:
        target = self._target(run, spec)
        children: list[Run | None] = [None] * len(inputs)
        left = iter(enumerate(inputs))
        driver = self._engine.driver

        async def work() -> None:
            for index, given in left:
                if run.stopping or run.status != "RUNNING":
                    return
                child = self._child(run, target, index, given, again=spec.again)
                child = await self._engine.run_express(child)
                children[index] = child
                run.ended(index, str(child.status))
                if run.too_many() and not run.stopping:
                    run.stopping = True
                    self._stop_children(run)

        workers = min(spec.concurrency, len(inputs))
        await driver.gather([work() for _ in range(workers)])
        return children

    def _child(
        self, run: MapRun, target: Target, index: int, given: JsonValue, *, again: bool
    ) -> Run:
        engine = self._engine
        # The same map run and item mean the same child, after a crash and in a redrive.
        digest = hashlib.sha256(f"{run.arn}:{index}".encode()).hexdigest()
        name = f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
        if not target.machine.express:
            arn = engine.names.execution(target.machine.name, name)
            known = engine.find(arn)
            if known is not None:
                if again and not known.open and known.status is not Status.SUCCEEDED:
                    engine.redrive_execution(arn)
                    return engine.run(arn)
                return known
        return engine.start(target, dumps(given), name, run.arn)

    def _target(self, run: MapRun, spec: MapSpec) -> Target:
        engine = self._engine
        parent = engine.run(run.execution_arn)
        kind = "EXPRESS" if spec.express else "STANDARD"
        machine = compile_machine(parse_definition(spec.definition, kind))
        role = parent.identity.role_arn
        now = engine.clock.now()
        revision = Revision("INITIAL", spec.definition, role, machine, now)
        name = f"{parent.identity.machine_name}/{spec.label}"
        return Target(StateMachine(engine.names.machine(name), name, kind, now, revision), revision)

    async def _result(self, run: MapRun, spec: MapSpec, children: list[Run | None]) -> Json:
        ended = [child for child in children if child is not None]
        if spec.writer is not None:
            writing = (self._clients, spec.writer, run.arn, ended)
            return Json(await asyncio.to_thread(write_results, *writing))
        outputs = [child.output for child in ended if child.output is not None]
        return Json([output.data for output in outputs])

    def _stop_children(self, run: MapRun) -> None:
        for shape in self._engine.map_run_executions(run.arn):
            if shape["status"] == "RUNNING":
                self._engine.stop_child(shape["executionArn"])

    def _close(self, run: MapRun, status: str) -> None:
        run.status = status
        run.stopped = self._engine.clock.now()
        self._keep(run)


def _hold_threshold(run: MapRun) -> None:
    if run.too_many():
        raise StatesError(THRESHOLD, _EXCEEDED)
