"""State machines as the journal keeps them."""

from typing import Any

from local.stepfunctions.machine import compile_machine
from local.stepfunctions.registry import Alias, Revision, StateMachine, Version
from local.stepfunctions.validation import parse_definition


def to_record(machine: StateMachine) -> dict[str, Any]:
    """A state machine with its versions and aliases as JSON."""
    return {
        "arn": machine.arn,
        "name": machine.name,
        "type": machine.type,
        "created": machine.created,
        "revision": _revision_record(machine.revision),
        "settings": machine.settings,
        "tags": machine.tags,
        "last_version": machine.last_version,
        "versions": [
            {
                "number": version.number,
                "revision": _revision_record(version.revision),
                "description": version.description,
                "created": version.created,
            }
            for version in machine.versions.values()
        ],
        "aliases": [
            {
                "name": alias.name,
                "description": alias.description,
                "routes": alias.routes,
                "created": alias.created,
                "updated": alias.updated,
            }
            for alias in machine.aliases.values()
        ],
    }


def from_record(record: dict[str, Any]) -> StateMachine:
    """The state machine that `to_record` wrote."""
    kind = record["type"]
    machine = StateMachine(
        arn=record["arn"],
        name=record["name"],
        type=kind,
        created=record["created"],
        revision=_revision(record["revision"], kind),
        settings=record["settings"],
        tags=record["tags"],
        last_version=record["last_version"],
    )
    for entry in record["versions"]:
        revision = _revision(entry["revision"], kind)
        number = entry["number"]
        version = Version(number, revision, entry["description"], entry["created"])
        machine.versions[number] = version
    for entry in record["aliases"]:
        routes = [(arn, weight) for arn, weight in entry["routes"]]
        machine.aliases[entry["name"]] = Alias(**{**entry, "routes": routes})
    return machine


def _revision_record(revision: Revision) -> dict[str, Any]:
    return {
        "id": revision.id,
        "definition": revision.definition,
        "role_arn": revision.role_arn,
        "at": revision.at,
    }


def _revision(record: dict[str, Any], kind: str) -> Revision:
    machine = compile_machine(parse_definition(record["definition"], kind))
    return Revision(machine=machine, **record)
