"""The real ledger, admissions and gate on a DynamoDB in memory, with what a test asks of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, cast

from autoops.adapters.admissions import DynamoAdmissions
from autoops.adapters.dynamodb import DynamoLedger
from autoops.adapters.table import Table
from autoops.calls import PaidCalls
from autoops.closing import Closing
from autoops.domain.admissions import Admission, AdmissionState, Asker, CallClaim, Limit
from autoops.domain.contracts import Run
from autoops.domain.ledger import Budget, OpenedRun, RunView
from autoops.gate import Gate
from autoops.operations import Operations
from fake_dynamodb import FakeDynamoDB
from fakes import NOON, FakeArtifacts, FakeEvents, FakeWorkflows, FixedClock
from watching import Watch, Watching, unwatched

LEASE: Final = timedelta(seconds=90)
DOLLAR: Final = 1_000_000_000
USUAL: Final = "token"
"""The task token of who asks, unless a test says otherwise."""


@dataclass
class GateBench:
    """Everything behind the gate.

    Attributes:
        limits: what calls share, by model; may be changed while a test runs.
        dynamodb: `calls` and `before` tell and disturb what goes to the table.
        workflows: `running` says which executions run, at which redrive count.
        watch: called around each operation of ledger, admissions and artifacts: see `watching`.
    """

    limits: dict[str, Limit] = field(default_factory=dict)
    dynamodb: FakeDynamoDB = field(default_factory=FakeDynamoDB)
    clock: FixedClock = field(default_factory=FixedClock)
    workflows: FakeWorkflows = field(default_factory=FakeWorkflows)
    events: FakeEvents = field(default_factory=FakeEvents)
    artifacts: FakeArtifacts = field(default_factory=FakeArtifacts.of_samples)
    watch: Watch = unwatched

    def __post_init__(self) -> None:
        client: Any = self.dynamodb
        self.table = Table(client, "Ledger", lambda _seconds: None)
        self.ledger = cast("DynamoLedger", Watching(DynamoLedger(self.table), self._watched))
        real = DynamoAdmissions(self.table, self.limits)
        self.admissions = cast("DynamoAdmissions", Watching(real, self._watched))
        self.artifacts.watch = self._watched
        self.gate = Gate(
            self.admissions, self.ledger, self.workflows, self.events, self.clock, LEASE
        )
        self.operations = Operations(self.gate, account_ceiling=10 * DOLLAR)

    def open(self, run: Run, ceiling: int = DOLLAR, **options: Any) -> None:
        """Open a run whose execution is running under its root's name."""
        self.workflows.running[run.root] = 0
        self.ledger.open_run(
            OpenedRun(run=run, execution=run.root, ceiling=ceiling, opened_at=NOON, **options)
        )

    def pass_lease(self) -> None:
        """Let the lease of a worker that says nothing end."""
        self.clock.advance(LEASE)

    def asker(self, run: Run, token: str | None = None) -> Asker:
        """The run's own execution."""
        redrive = self.workflows.running.get(run.root) or 0
        return Asker(execution=run.root, redrive=redrive, token=token)

    def ask(self, run: Run, claim: CallClaim, token: str | None = USUAL) -> Admission:
        """Ask for a call."""
        return self.gate.ask(run, claim, self.asker(run, token))

    def calls(self, run: Run) -> PaidCalls:
        """Paid calls of the run, as a new worker makes them."""
        return PaidCalls(run, self.gate, self.artifacts)

    def closing(self) -> Closing:
        """A new invocation of close_run or sweep."""
        return Closing(self.gate, self.artifacts)

    def view(self, run: Run) -> RunView:
        """The run as its ledger tells it."""
        view = self.ledger.view(run.root)
        assert view is not None, f"{run.root} never opened"
        return view

    def budget(self, run: Run) -> Budget:
        """The run's money, after a look at what must always be true of it."""
        budget = self.view(run).budget
        assert budget.available + budget.reserved + budget.spent == budget.ceiling + budget.over
        assert min(budget.available, budget.reserved, budget.spent, budget.over) >= 0, budget
        return budget

    def money(self, run: Run) -> tuple[int, int, int]:
        """Available, reserved, spent."""
        budget = self.budget(run)
        return budget.available, budget.reserved, budget.spent

    def states(self, run: Run) -> Mapping[str, AdmissionState]:
        """Where the run's calls stand, by call path."""
        return {seen.claim.call: seen.state for seen in self.view(run).admissions}

    def held(self, model: str) -> int:
        """Slots of the model that are held."""
        return sum(
            int(item["held"]["N"])
            for (partition, sort), item in self.dynamodb.items.items()
            if partition == f"LIMIT#{model}" and sort.startswith("SLOT#")
        )

    def queue(self, model: str) -> list[str]:
        """The call paths that wait for a slot of the model, in the order of their tickets."""
        tickets = sorted(key for key in self.dynamodb.items if key[0] == f"QUEUE#{model}")
        return [self.dynamodb.items[key]["call"]["S"] for key in tickets]

    def _watched(self, moment: str) -> None:
        self.watch(moment)
