"""Map runs: the child executions of Distributed Maps."""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from local.constants import PAYLOAD_BYTES
from local.stepfunctions.errors import DATA_LIMIT, RUNTIME, ApiError, StatesError
from local.stepfunctions.jsontext import Json, dumps
from local.stepfunctions.machine import compile_machine
from local.stepfunctions.mapruns.batches import batches
from local.stepfunctions.mapruns.pool import Piece, Pool
from local.stepfunctions.mapruns.reader import read_items
from local.stepfunctions.mapruns.spec import MOST_AT_ONCE, MapSpec
from local.stepfunctions.mapruns.writer import write_results
from local.stepfunctions.names import check_arn
from local.stepfunctions.registry import Revision, StateMachine, Target
from local.stepfunctions.run import Run, Status
from local.stepfunctions.validation import parse_definition

if TYPE_CHECKING:
    from local.stepfunctions.engine import Engine

_log = logging.getLogger(__name__)
THRESHOLD: Final = "States.ExceedToleratedFailureThreshold"
_EXCEEDED: Final = "The specified tolerated failure threshold was exceeded"


@dataclass(slots=True)
class MapRun:
    """One map run, as DescribeMapRun tells of it; times are milliseconds.

    Attributes:
        tolerated_count: how many children may fail, None where only a share is given.
        tolerated_share: how many may fail in percent, None where only a count is given.
        outcomes: the status of each child that was started, while the run goes on.
        counted: how many items and how many children ended in each status, once it ended.
        written: how many results the ResultWriter wrote.
    """

    arn: str
    execution_arn: str
    started: int
    concurrency: int
    tolerated_count: int | None
    tolerated_share: float | None
    status: str = "RUNNING"
    stopped: int | None = None
    redrives: int = 0
    redriven: int | None = None
    total: int = 0
    item_counts: list[int] = field(default_factory=list)
    outcomes: dict[int, str] = field(default_factory=dict)
    counted: dict[str, dict[str, int]] | None = None
    failures: int = 0
    stopping: bool = False
    written: int = 0

    def began(self, index: int) -> None:
        """A child was started."""
        self.outcomes[index] = str(Status.RUNNING)

    def ended(self, index: int, status: str) -> None:
        """A child ended."""
        self.outcomes[index] = status
        self.failures += status != "SUCCEEDED"

    def too_many(self) -> bool:
        """Whether more children failed than may: by number, by share, or any without either."""
        count, share = self.tolerated_count, self.tolerated_share
        if share is None:
            return self.failures > (count or 0)
        if count is not None and self.failures > count:
            return True
        return self.failures > 0 and 100 * self.failures / self.total > share

    def begin(self) -> None:
        """Every child is to be started, in a redrive too."""
        self.outcomes.clear()
        self.counted = None
        self.failures = self.written = 0
        self.status, self.stopped, self.stopping = "RUNNING", None, False

    def counts(self) -> dict[str, dict[str, int]]:
        """How many items and how many executions are in each status, PENDING among them."""
        if self.counted is not None:
            return self.counted
        items: Counter[str] = Counter()
        executions: Counter[str] = Counter()
        for index, size in enumerate(self.item_counts):
            status = self.outcomes.get(index, "PENDING")
            items[status] += size
            executions[status] += 1
        return {"items": dict(items), "executions": dict(executions)}

    def finish(self) -> None:
        """Keep the counts only: a run that ended stays known, however many items it had."""
        self.counted = self.counts()
        self.item_counts, self.outcomes = [], {}

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
        self._pools: dict[str, Pool] = {}

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

    def update(
        self, arn: str, concurrency: int | None, count: int | None, share: float | None
    ) -> None:
        """Change a map run, while it runs too; None leaves a number as it is.

        Raises:
            ApiError: InvalidArn, ResourceNotFound.
        """
        run = self.get(arn)
        if count is not None:
            run.tolerated_count = count
        if share is not None:
            run.tolerated_share = share
        if concurrency is not None:
            run.concurrency = min(concurrency or MOST_AT_ONCE, MOST_AT_ONCE)
        if arn in self._pools:
            self._stop_if_too_many(run)
            self._pools[arn].resize(run.concurrency)
        self._keep(run)

    def stop(self, arn: str) -> None:
        """Stop a map run and its children: nobody waits for it any more."""
        run = self._runs.get(arn)
        if run is None or run.status != "RUNNING":
            return
        self._end(run, "ABORTED")
        self._stop_children(run)

    async def run(self, execution_arn: str, spec: MapSpec) -> Json:
        """Run a map to its end.

        Returns:
            The outputs in order, or what the ResultWriter wrote.

        Raises:
            StatesError: more children failed than may, or reading or writing failed.
        """
        run = self._begin(execution_arn, spec)
        redrives = run.redrives
        try:
            result = await self._result_of(run, spec)
        except StatesError:
            self._finish(run, "FAILED", redrives)
            raise
        except Exception as problem:
            # Whatever is wrong with one map run, who waits for it must hear of it.
            _log.exception("a map run broke", extra={"map_run": run.arn})
            self._finish(run, "FAILED", redrives)
            raise StatesError(RUNTIME, f"{type(problem).__name__}: {problem}") from problem
        self._finish(run, "SUCCEEDED", redrives)
        return result

    async def _result_of(self, run: MapRun, spec: MapSpec) -> Json:
        inputs = await self._inputs(run, spec)
        children = await self._run_children(run, spec, inputs)
        if run.too_many():
            # What was done is written all the same, so that nobody has to do it again.
            if spec.writer is not None and "Resource" in spec.writer:
                await self._result(run, spec, children)
            raise StatesError(THRESHOLD, _EXCEEDED)
        return await self._result(run, spec, children)

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
        elif spec.again and run.status != "RUNNING":
            run.redrives += 1
            run.redriven = now
        run.begin()
        self._keep(run)
        return run

    async def _inputs(self, run: MapRun, spec: MapSpec) -> list[str]:
        items = spec.items
        if items is None:
            reading = (self._clients, spec.reader or {})
            items = await asyncio.to_thread(read_items, *reading)
        select = spec.select
        if select is not None:
            items = [select(index, item) for index, item in enumerate(items)]
        values, run.item_counts = batches(items, spec.batching)
        run.total = len(values)
        return [_checked(index, dumps(value)) for index, value in enumerate(values)]

    async def _run_children(
        self, run: MapRun, spec: MapSpec, inputs: list[str]
    ) -> list[Run | None]:
        target = self._target(run, spec)
        children: list[Run | None] = [None] * len(inputs)

        async def work(index: int, given: str) -> None:
            run.began(index)
            child = self._child(run, target, index, given, again=spec.again)
            child = await self._engine.run_express(child)
            children[index] = child
            run.ended(index, str(child.status))
            self._stop_if_too_many(run)

        def pieces() -> Iterator[Piece]:
            for index, given in enumerate(inputs):
                if run.stopping or run.status != "RUNNING":
                    return
                yield partial(work, index, given)

        pool = self._pools[run.arn] = Pool(self._engine.driver, pieces(), run.concurrency)
        try:
            await pool.run()
        finally:
            # A run that was stopped and redriven at once has another pool by now.
            if self._pools.get(run.arn) is pool:
                del self._pools[run.arn]
        return children

    def _stop_if_too_many(self, run: MapRun) -> None:
        if run.too_many() and not run.stopping:
            run.stopping = True
            self._stop_children(run)

    def _child(self, run: MapRun, target: Target, index: int, given: str, *, again: bool) -> Run:
        engine = self._engine
        if target.machine.express:
            return self._express_child(run, target, index, given)
        name = _name_of_child(run.arn, index)
        known = engine.find(engine.names.execution(target.machine.name, name))
        if known is None:
            return engine.start(target, given, name, run.arn)
        if again and _wants_redrive(run, known):
            engine.redrive_execution(known.identity.arn)
            return engine.run(known.identity.arn)
        return known

    def _express_child(self, run: MapRun, target: Target, index: int, given: str) -> Run:
        """An Express execution is not redriven: one that failed is followed by another."""
        engine = self._engine
        for attempt in range(run.redrives, -1, -1):
            name = _name_of_child(run.arn, index, attempt)
            known = engine.find(engine.names.express(target.machine.name, name, name))
            started_now = attempt == run.redrives
            if known is not None and (started_now or known.status is Status.SUCCEEDED):
                return known
        name = _name_of_child(run.arn, index, run.redrives)
        return engine.start(target, given, name, run.arn)

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
            result = Json(await asyncio.to_thread(write_results, *writing))
            run.written = len(ended) if "Resource" in spec.writer else 0
            return result
        outputs = [child.output for child in ended if child.output is not None]
        return Json([output.data for output in outputs])

    def _stop_children(self, run: MapRun) -> None:
        for shape in self._engine.map_run_executions(run.arn):
            if shape["status"] == "RUNNING":
                self._engine.stop_child(shape["executionArn"])

    def _finish(self, run: MapRun, status: str, redrives: int) -> None:
        # One that was stopped and redriven at once goes on: only its last attempt ends it.
        if run.redrives == redrives:
            run.finish()
            self._end(run, status)

    def _end(self, run: MapRun, status: str) -> None:
        # One that was stopped stays stopped; its children have ended by now.
        if run.status == "RUNNING":
            run.status = status
            run.stopped = self._engine.clock.now()
        self._keep(run)


def _checked(index: int, text: str) -> str:
    if len(text.encode()) > PAYLOAD_BYTES:
        cause = f"The input of child execution {index} exceeds the limit of {PAYLOAD_BYTES} bytes."
        raise StatesError(DATA_LIMIT, cause)
    return text


def _wants_redrive(run: MapRun, child: Run) -> bool:
    if child.open or child.status is Status.SUCCEEDED:
        return False
    # One that failed since this redrive began has had its turn: the engine was killed then.
    begun = child.redriven or child.started
    return child.redrives < run.redrives and begun <= (run.redriven or 0)


def _name_of_child(map_run_arn: str, index: int, attempt: int = 0) -> str:
    # The same map run and item mean the same child, after a crash and in a redrive.
    again = f":{attempt}" if attempt else ""
    digest = hashlib.sha256(f"{map_run_arn}:{index}{again}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
