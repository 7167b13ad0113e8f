"""State machines, their versions and their aliases."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from local.constants import DEFINITION_BYTES
from local.stepfunctions.errors import ApiError
from local.stepfunctions.machine import Machine, compile_machine
from local.stepfunctions.names import Names, check_arn, check_name
from local.stepfunctions.validation import parse_definition


@dataclass(frozen=True, slots=True)
class Revision:
    """A definition as it stood at one time.

    Attributes:
        id: AWS's revision id; "INITIAL" for the first.
        definition: the text as given.
        role_arn: the role that goes with it.
        machine: the compiled definition.
        at: when it was made, in milliseconds.
    """

    id: str
    definition: str
    role_arn: str
    machine: Machine
    at: int


@dataclass(slots=True)
class Version:
    """A published version."""

    number: int
    revision: Revision
    description: str | None
    created: int


@dataclass(slots=True)
class Alias:
    """A name for one or two versions with weights."""

    name: str
    description: str | None
    routes: list[tuple[str, int]]
    created: int
    updated: int


@dataclass(slots=True)
class StateMachine:
    """A state machine and all that is kept with it."""

    arn: str
    name: str
    type: str
    created: int
    revision: Revision
    settings: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    versions: dict[int, Version] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    last_version: int = 0

    @property
    def express(self) -> bool:
        """Whether its type is EXPRESS."""
        return self.type == "EXPRESS"

    def version_arn(self, number: int) -> str:
        """The ARN of a version."""
        return f"{self.arn}:{number}"


@dataclass(frozen=True, slots=True)
class Target:
    """What a start or a description by ARN means.

    Attributes:
        machine: the state machine.
        revision: the definition that runs.
        version_arn: the version, None when the machine itself was named.
        alias_arn: the alias, None when none was named.
    """

    machine: StateMachine
    revision: Revision
    version_arn: str | None = None
    alias_arn: str | None = None


class Registry:
    """All state machines of an engine.

    Args:
        names: makes ARNs.
        now: the engine's time in milliseconds.
        random: where revision ids and alias choices come from.
        keep: called with a machine that changed, or with its ARN and None when it is gone.
    """

    def __init__(
        self,
        names: Names,
        now: Callable[[], int],
        random: Random,
        keep: "Callable[[str, StateMachine | None], None]",
    ) -> None:
        self._names = names
        self._keep = keep
        self._now = now
        self._random = random
        self._machines: dict[str, StateMachine] = {}

    def __iter__(self) -> Iterator[StateMachine]:
        return iter(sorted(self._machines.values(), key=lambda machine: machine.name))

    def restore(self, machine: StateMachine) -> None:
        """Take up a machine that was kept."""
        self._machines[machine.arn] = machine

    def changed(self, machine: StateMachine) -> None:
        """Keep a machine whose tags, versions or aliases were changed."""
        self._keep(machine.arn, machine)

    def create(
        self,
        name: str,
        definition: str,
        kind: str,
        role_arn: str,
        settings: Mapping[str, Any] | None = None,
    ) -> StateMachine:
        """Add a state machine; the same name and content again returns the one that exists.

        Raises:
            ApiError: InvalidName, InvalidDefinition, StateMachineAlreadyExists.
        """
        arn = self._names.machine(check_name(name))
        revision = self._revision("INITIAL", definition, role_arn, kind)
        known = self._machines.get(arn)
        if known is not None:
            same = (known.revision.definition, known.type, known.revision.role_arn)
            if same == (definition, kind, role_arn):
                return known
            raise ApiError("StateMachineAlreadyExists", f"State Machine Already Exists: '{arn}'")
        machine = StateMachine(arn, name, kind, self._now(), revision, dict(settings or {}))
        self._machines[arn] = machine
        self.changed(machine)
        return machine

    def update(
        self, arn: str, definition: str | None, role_arn: str | None, settings: Mapping[str, Any]
    ) -> StateMachine:
        """Give a state machine a new definition, role or settings; running executions keep theirs.

        Raises:
            ApiError: StateMachineDoesNotExist, InvalidDefinition.
        """
        machine = self.get(arn)
        old = machine.revision
        if definition is not None or role_arn is not None:
            text = old.definition if definition is None else definition
            role = old.role_arn if role_arn is None else role_arn
            machine.revision = self._revision(self._uuid(), text, role, machine.type)
        elif settings:
            machine.revision = replace(old, id=self._uuid(), at=self._now())
        machine.settings |= settings
        self.changed(machine)
        return machine

    def delete(self, arn: str) -> None:
        """Remove a state machine with its versions and aliases; none there is no error."""
        if self._machines.pop(check_arn(arn, "stateMachine"), None) is not None:
            self._keep(arn, None)

    def get(self, arn: str) -> StateMachine:
        """The state machine of an ARN without version or alias.

        Raises:
            ApiError: InvalidArn, StateMachineDoesNotExist.
        """
        machine = self._machines.get(check_arn(arn, "stateMachine"))
        if machine is None:
            raise missing(arn)
        return machine

    def publish(self, arn: str, revision_id: str | None, description: str | None) -> Version:
        """Keep the current revision as a numbered version, or return the one that has it.

        Raises:
            ApiError: StateMachineDoesNotExist, ConflictException.
        """
        machine = self.get(arn)
        current = machine.revision
        if revision_id is not None and revision_id != current.id:
            raise ApiError(
                "ConflictException",
                f"Failed to publish the State Machine version for revision {revision_id}."
                f" The current State Machine revision is {current.id}.",
            )
        for version in machine.versions.values():
            if version.revision.id == current.id:
                return version
        machine.last_version += 1
        number = machine.last_version
        version = Version(number, current, description, self._now())
        machine.versions[number] = version
        self.changed(machine)
        return version

    def target(self, arn: str) -> Target:
        """What an ARN of a machine, a version or an alias stands for; an alias draws by weight.

        Raises:
            ApiError: InvalidArn, StateMachineDoesNotExist.
        """
        machine, qualifier = self.split(arn)
        if qualifier is None:
            return Target(machine, machine.revision)
        if qualifier.isdigit():
            version = machine.versions.get(int(qualifier))
            if version is None:
                raise missing(arn)
            return Target(machine, version.revision, arn)
        alias = machine.aliases.get(qualifier)
        if alias is None:
            raise missing(arn)
        drawn = self._draw(alias)
        number = int(drawn.rsplit(":", 1)[1])
        version = machine.versions.get(number)
        if version is None:
            raise missing(arn)
        return Target(machine, version.revision, drawn, arn)

    def split(self, arn: str) -> tuple[StateMachine, str | None]:
        """The machine of an ARN, and the version number or alias name after it.

        Raises:
            ApiError: InvalidArn, StateMachineDoesNotExist.
        """
        check_arn(arn, "stateMachine")
        machine = self._machines.get(arn)
        if machine is not None:
            return machine, None
        base, _, qualifier = arn.rpartition(":")
        machine = self._machines.get(base)
        if machine is None:
            raise missing(arn)
        return machine, qualifier

    def _draw(self, alias: Alias) -> str:
        routes = alias.routes
        if len(routes) == 1:
            return routes[0][0]
        arns = [arn for arn, _ in routes]
        return self._random.choices(arns, [weight for _, weight in routes])[0]

    def _revision(self, name: str, definition: str, role_arn: str, kind: str) -> Revision:
        if len(definition.encode()) > DEFINITION_BYTES:
            sentence = f"The definition is longer than {DEFINITION_BYTES} bytes"
            raise ApiError("InvalidDefinition", f"Invalid State Machine Definition: '{sentence}'")
        parsed = parse_definition(definition, kind)
        return Revision(name, definition, role_arn, compile_machine(parsed), self._now())

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


def missing(arn: str) -> ApiError:
    """The error for an ARN that stands for nothing."""
    return ApiError("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")
