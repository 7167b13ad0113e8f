"""What an engine keeps besides executions: state machines, activities, ended map runs."""

from local.stepfunctions.activities import Activities, Activity
from local.stepfunctions.journal import Journal
from local.stepfunctions.machine_records import from_record, to_record
from local.stepfunctions.mapruns.runs import MapRun, MapRuns
from local.stepfunctions.registry import Registry, StateMachine


class Keeper:
    """Writes resources to the journal and takes them up again.

    Args:
        journal: where they are kept; without one nothing is.
    """

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal

    def machine(self, arn: str, machine: StateMachine | None) -> None:
        """Keep a state machine; None forgets it."""
        if self._journal is not None:
            self._journal.save(arn, "machine", None if machine is None else to_record(machine))

    def activity(self, arn: str, activity: Activity | None) -> None:
        """Keep an activity; None forgets it."""
        if self._journal is not None:
            record = None if activity is None else activity.record()
            self._journal.save(arn, "activity", record)

    def map_run(self, run: MapRun) -> None:
        """Keep an ended map run."""
        if self._journal is not None:
            self._journal.save(run.arn, "map_run", run.record())

    def restore(self, machines: Registry, activities: Activities, map_runs: MapRuns) -> None:
        """Take up everything that was kept."""
        if self._journal is None:
            return
        for record in self._journal.resources("machine"):
            machines.restore(from_record(record))
        for record in self._journal.resources("activity"):
            activities.restore(Activity(**record))
        for record in self._journal.resources("map_run"):
            map_runs.restore(record)
