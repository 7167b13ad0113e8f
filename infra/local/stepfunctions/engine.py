"""The embedded Step Functions engine: state machines and their executions in this process."""

import secrets
import uuid
from datetime import timedelta
from random import Random
from typing import Any, Final

from local.constants import ACCOUNT, PAYLOAD_BYTES, REGION
from local.stepfunctions.activities import Activities
from local.stepfunctions.callbacks import Callbacks
from local.stepfunctions.clock import Clock, RealClock
from local.stepfunctions.commands import Redriven, RunTask, Started, Stopped
from local.stepfunctions.descriptions import describe, redrive_refusal
from local.stepfunctions.driver import Driver
from local.stepfunctions.errors import ApiError
from local.stepfunctions.events import Event, page
from local.stepfunctions.executions import Executions
from local.stepfunctions.journal import Journal
from local.stepfunctions.jsontext import Json
from local.stepfunctions.keeper import Keeper
from local.stepfunctions.live import Live
from local.stepfunctions.mapruns.runs import MapRuns
from local.stepfunctions.names import Names, check_arn, check_name
from local.stepfunctions.registry import Registry, Revision, StateMachine, Target
from local.stepfunctions.run import Identity, Run
from local.stepfunctions.tasks import TaskRunner
from local.stepfunctions.virtual_time import pass_time, virtual_clock
from local.stepfunctions.watchers import EventCallback, StatusCallback, Watchers

_DEFAULT_ROLE: Final = "arn:aws:iam::{account}:role/local"


class Engine:
    """State machines and executions, in memory or with a journal.

    Args:
        tasks: runs the tasks of executions.
        clock: real time unless given.
        seed: what ids and randomness are made from; the same seed gives the same history.
            Without one each engine has its own.
        account: the account in ARNs.
        region: the region in ARNs.
        journal: where everything is kept; `resume` goes on with what it holds.
    """

    def __init__(
        self,
        tasks: TaskRunner,
        *,
        clock: Clock | None = None,
        seed: int | None = None,
        account: str = ACCOUNT,
        region: str = REGION,
        journal: Journal | None = None,
    ) -> None:
        self.clock = clock or RealClock()
        self._seed = secrets.token_hex(16) if seed is None else str(seed)
        # After a restart the same seed must not make the same ids again.
        boot = "" if journal is None else f":{journal.boot}"
        self._random = Random(self._seed + boot)  # noqa: S311 - ids must be repeatable
        self.names = Names(account, region)
        now = self.clock.now
        keeper = Keeper(journal)
        self.machines = Registry(self.names, now, self._random, keeper.machine)
        self.activities = Activities(self.names, now, keeper.activity)
        self._executions = Executions(journal, self.activities.knows)
        self._watchers = Watchers(now)
        prepare, published = self._executions.prepare, self._published
        self.driver = Driver(self, self.clock, tasks, prepare, journal, published)
        self._callbacks = Callbacks(self.driver, self._executions.exists)
        clients = getattr(tasks, "clients", None)
        self.map_runs = MapRuns(self, clients, keeper.map_run)
        keeper.restore(self.machines, self.activities, self.map_runs)

    def resume(self) -> int:
        """Go on with every execution the journal has that did not end; returns how many."""
        found = list(self._executions.resume())
        for live, commands in found:
            self.driver.resume(live, commands)
        return len(found)

    # State machines

    def create_state_machine(
        self,
        *,
        name: str,
        definition: str,
        type: str = "STANDARD",  # noqa: A002 - AWS's word
        role_arn: str | None = None,
    ) -> str:
        """Add a state machine; returns its ARN.

        Raises:
            ApiError: InvalidName, InvalidDefinition, StateMachineAlreadyExists.
        """
        role = role_arn or _DEFAULT_ROLE.format(account=self.names.account)
        return self.machines.create(name, definition, type, role).arn

    def publish_version(self, state_machine_arn: str, description: str | None = None) -> str:
        """Publish the current definition; returns the version's ARN.

        Raises:
            ApiError: StateMachineDoesNotExist.
        """
        version = self.machines.publish(state_machine_arn, None, description)
        return f"{state_machine_arn}:{version.number}"

    # Executions

    def start_execution(
        self,
        state_machine_arn: str,
        input: str = "{}",  # noqa: A002 - AWS's word
        name: str | None = None,
    ) -> str:
        """Start an execution; the same open name with the same input is the same execution.

        Args:
            state_machine_arn: a machine, a version or an alias.
            input: JSON text.
            name: the execution's name; one is made when none is given.

        Returns:
            The execution's ARN.

        Raises:
            ApiError: StateMachineDoesNotExist, InvalidExecutionInput, InvalidName,
                ExecutionAlreadyExists.
        """
        return self.start(self.machines.target(state_machine_arn), input, name).identity.arn

    def start(
        self,
        target: Target,
        text: str = "{}",
        name: str | None = None,
        map_run_arn: str | None = None,
    ) -> Run:
        """Start an execution of a machine, version or alias; returns it."""
        given = _input(text)
        name = self.new_id() if name is None else check_name(name)
        identity = self._identity(target, name, map_run_arn)
        if self._executions.exists(identity.arn):
            known = self._live(identity.arn)
            if known.run.open and known.run.input.text == text:
                return known.run
            sentence = f"Execution Already Exists: '{identity.arn}'"
            raise ApiError("ExecutionAlreadyExists", sentence)
        run = Run(identity, target.revision.machine, given, self.clock.now())
        run.has_activity = self.activities.knows
        self.driver.post(self._executions.add(run, target.revision), Started())
        return run

    def _identity(self, target: Target, name: str, map_run_arn: str | None) -> Identity:
        machine = target.machine
        if machine.express:
            # A map run finds its children again by their names.
            once = self.new_id() if map_run_arn is None else name
            arn = self.names.express(machine.name, name, once)
        else:
            arn = self.names.execution(machine.name, name)
        return Identity(
            arn=arn,
            name=name,
            machine_arn=machine.arn,
            machine_name=machine.name,
            role_arn=target.revision.role_arn,
            seed=self._seed,
            version_arn=target.version_arn,
            alias_arn=target.alias_arn,
            express=machine.express,
            map_run_arn=map_run_arn,
        )

    def find(self, execution_arn: str) -> Run | None:
        """An execution, None when there is none of this ARN."""
        live = self._executions.find(execution_arn)
        return None if live is None else live.run

    def run(self, execution_arn: str) -> Run:
        """An execution as the engine knows it.

        Raises:
            ApiError: InvalidArn, ExecutionDoesNotExist.
        """
        return self._live(execution_arn).run

    def summaries(self, machine: StateMachine) -> list[dict[str, Any]]:
        """All executions of a machine as ListExecutions shows them, oldest first."""
        return self._executions.summaries("machine", machine.arn)

    def map_run_executions(self, map_run_arn: str) -> list[dict[str, Any]]:
        """The child executions of a map run as ListExecutions shows them, oldest first."""
        return self._executions.summaries("map_run", map_run_arn)

    def revision(self, execution_arn: str) -> Revision:
        """The definition that an execution runs.

        Raises:
            ApiError: InvalidArn, ExecutionDoesNotExist.
        """
        live = self._live(execution_arn)
        run = live.run
        role = run.identity.role_arn
        return Revision(live.revision_id, live.definition, role, run.machine, run.started)

    def describe_execution(self, execution_arn: str) -> dict[str, Any]:
        """The execution as DescribeExecution answers; times are seconds.

        Raises:
            ApiError: InvalidArn, ExecutionDoesNotExist.
        """
        return describe(self.run(execution_arn), self.clock.now())

    def history(self, execution_arn: str) -> list[Event]:
        """The events of an execution so far.

        Raises:
            ApiError: InvalidArn, ExecutionDoesNotExist.
        """
        return self.run(execution_arn).history

    def get_execution_history(
        self,
        execution_arn: str,
        *,
        reverse_order: bool = False,
        include_execution_data: bool = True,
    ) -> list[dict[str, Any]]:
        """All events as GetExecutionHistory answers.

        Raises:
            ApiError: InvalidArn, ExecutionDoesNotExist.
        """
        events = self.history(execution_arn)
        size = len(events)
        data = include_execution_data
        return page(events, reverse=reverse_order, start=0, size=size, data=data)[0]

    def stop_execution(
        self, execution_arn: str, error: str | None = None, cause: str | None = None
    ) -> int:
        """Stop an execution and the executions its tasks wait for; returns the moment it stopped.

        Raises:
            ApiError: InvalidArn, ExecutionDoesNotExist.
        """
        live = self._live(execution_arn)
        self.driver.post(live, Stopped(error, cause))
        self.driver.pump()
        return live.run.stopped or self.clock.now()

    def redrive_execution(self, execution_arn: str) -> int:
        """Restart an execution that did not succeed where it failed; returns the moment.

        Raises:
            ApiError: ExecutionNotRedrivable, ExecutionDoesNotExist.
        """
        live = self._live(execution_arn)
        refusal = redrive_refusal(live.run, self.clock.now())
        if refusal is not None:
            raise ApiError("ExecutionNotRedrivable", f"Execution is not redrivable: {refusal}")
        self._executions.take_up(live)
        self.driver.post(live, Redriven())
        self.driver.pump()
        return live.run.redriven or self.clock.now()

    def stop_child(self, execution_arn: str) -> None:
        """Stop an execution or a map run that a state waited for, if it still runs."""
        if ":mapRun:" in execution_arn:
            self.map_runs.stop(execution_arn)
            return
        live = self._executions.find(execution_arn)
        if live is not None and live.run.open:
            self.driver.post(live, Stopped(None, None))

    # Task tokens

    def send_task_success(self, token: str, output: str) -> None:
        """Give a waiting task its result.

        Raises:
            ApiError: InvalidToken, TaskTimedOut, InvalidOutput.
        """
        self._callbacks.succeed(token, output)

    def send_task_failure(
        self, token: str, error: str | None = None, cause: str | None = None
    ) -> None:
        """Fail a waiting task.

        Raises:
            ApiError: InvalidToken, TaskTimedOut, ValidationException.
        """
        self._callbacks.fail(token, error, cause)

    def send_task_heartbeat(self, token: str) -> None:
        """Say that a waiting task is still being worked on.

        Raises:
            ApiError: InvalidToken, TaskTimedOut.
        """
        self._callbacks.beat(token)

    def offer_activity(self, live: Live, command: RunTask) -> bool:
        """Queue a task for a worker when its resource is an activity."""
        return self.activities.offer(self, live, command)

    def _published(self, live: Live) -> None:
        self._watchers.published(live)
        if not live.run.open:
            self._executions.forget(live)

    # Watching

    def subscribe(self, callback: EventCallback) -> None:
        """Call back with the ARN and each event as it is recorded."""
        self._watchers.events.append(callback)

    def on_status_change(self, callback: StatusCallback) -> None:
        """Call back with the detail of each "Step Functions Execution Status Change" event."""
        self._watchers.statuses.append(callback)

    # Time

    async def run_until_idle(self) -> None:
        """Wait until nothing happens any more unless time passes or somebody calls."""
        await self.driver.run_until_idle()

    async def advance(self, **duration: float) -> None:
        """Let virtual time pass, such as `advance(hours=24)`: each timer fires at its moment.

        Raises:
            TypeError: the engine's clock is not virtual.
        """
        clock = virtual_clock(self.clock)
        target = clock.now() + round(timedelta(**duration).total_seconds() * 1000)
        await pass_time(clock, target, self.run_until_idle)
        clock.move_to(target)

    async def run_to_end(self, execution_arn: str, *, days: float = 366) -> dict[str, Any]:
        """Let virtual time pass until an execution ends or so many days are over; describes it.

        Raises:
            TypeError: the engine's clock is not virtual.
        """
        await self.run_run_to_end(self.run(execution_arn), days=days)
        return self.describe_execution(execution_arn)

    async def run_run_to_end(self, run: Run, *, days: float = 366) -> None:
        """As `run_to_end`, for an execution of any type.

        Raises:
            TypeError: the engine's clock is not virtual.
        """
        target = self.clock.now() + round(days * 86_400_000)
        await pass_time(self.clock, target, self.run_until_idle, lambda: run.open)

    async def run_express(self, run: Run) -> Run:
        """Wait for the end of an Express execution; returns it."""
        live = self._executions.find(run.identity.arn)
        return run if live is None else await self._ended(live)

    async def ended(self, execution_arn: str) -> Run:
        """Wait for the end of an execution, in the engine's own time; returns it."""
        return await self._ended(self._live(execution_arn))

    async def durable(self) -> None:
        """Wait until all that happened so far is kept: on disk, where there is a journal."""
        await self.driver.flush()

    async def _ended(self, live: Live) -> Run:
        if live.run.open:
            future = self.driver.park()
            live.ended.append(future)
            await future
        return live.run

    def wait_for_child(self, parent_arn: str, task: int, child_arn: str) -> None:
        """Note that a task waits for an execution, so that stopping one stops the other."""
        live = self._executions.find(parent_arn)
        if live is not None:
            live.children[task] = child_arn

    async def close(self) -> None:
        """Stop all tasks; executions that ran stay as they are."""
        await self.driver.close()

    def new_id(self) -> str:
        """A UUID from the engine's seed."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _live(self, execution_arn: str) -> Live:
        check_arn(execution_arn, "execution")
        live = self._executions.find(execution_arn)
        if live is None:
            sentence = f"Execution Does Not Exist: '{execution_arn}'"
            raise ApiError("ExecutionDoesNotExist", sentence)
        return live


def _input(text: str) -> Json:
    try:
        given = Json.parse(text)
    except ValueError as problem:
        raise ApiError(
            "InvalidExecutionInput", f"Invalid State Machine Execution Input: '{problem}'"
        ) from problem
    if given.exceeds(PAYLOAD_BYTES):
        sentence = (
            "1 validation error detected: Value at 'input' failed to satisfy constraint:"
            f" Member must have length less than or equal to {PAYLOAD_BYTES}"
        )
        raise ApiError("ValidationException", sentence)
    return given
