"""Operations on versions and aliases."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from local.stepfunctions.api.parameters import invalid, result_page
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import ApiError
from local.stepfunctions.registry import Alias, StateMachine

_ALIAS: Final = re.compile(r"(?=.*[a-zA-Z_\-.])[a-zA-Z0-9_\-.]+")
_LONGEST_ALIAS: Final = 80
_MOST_ROUTES: Final = 2
_ALL_WEIGHT: Final = 100


def publish(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """PublishStateMachineVersion."""
    arn = params["stateMachineArn"]
    version = engine.machines.publish(arn, params.get("revisionId"), params.get("description"))
    return {
        "stateMachineVersionArn": f"{arn}:{version.number}",
        "creationDate": version.created / 1000,
    }


def list_versions(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """ListStateMachineVersions, newest first."""
    machine = engine.machines.get(params["stateMachineArn"])
    shapes = [
        {
            "stateMachineVersionArn": machine.version_arn(version.number),
            "creationDate": version.created / 1000,
        }
        for version in sorted(machine.versions.values(), key=lambda version: -version.number)
    ]
    page, following = result_page(params, shapes)
    return {"stateMachineVersions": page, **following}


def delete_version(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DeleteStateMachineVersion."""
    arn = params["stateMachineVersionArn"]
    try:
        machine, number = engine.machines.split(arn)
    except ApiError as refusal:
        if refusal.code == "StateMachineDoesNotExist":
            return {}
        raise
    users = sorted(
        alias.name
        for alias in machine.aliases.values()
        if any(route == arn for route, _ in alias.routes)
    )
    if users:
        sentence = (
            "Version to be deleted must not be referenced by an alias."
            f" Current list of aliases referencing this version: [{', '.join(users)}]"
        )
        raise ApiError("ConflictException", sentence)
    machine.versions.pop(int(number or 0), None)
    engine.machines.changed(machine)
    return {}


def create_alias(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """CreateStateMachineAlias."""
    name = params["name"]
    _check_alias_name(name)
    routes = _routes(engine, params["routingConfiguration"])
    machine = _routed_machine(engine, routes)
    known = machine.aliases.get(name)
    description = params.get("description")
    if known is not None and (known.routes != routes or known.description != description):
        sentence = f"Alias already exists with a different configuration: {machine.arn}:{name}"
        raise ApiError("ConflictException", sentence)
    if known is None:
        now = engine.clock.now()
        known = machine.aliases[name] = Alias(name, description, routes, now, now)
        engine.machines.changed(machine)
    return {
        "stateMachineAliasArn": f"{machine.arn}:{name}",
        "creationDate": known.created / 1000,
    }


def update_alias(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """UpdateStateMachineAlias."""
    machine, alias = _alias(engine, params["stateMachineAliasArn"])
    if "routingConfiguration" in params:
        alias.routes = _routes(engine, params["routingConfiguration"])
    alias.description = params.get("description", alias.description)
    alias.updated = engine.clock.now()
    engine.machines.changed(machine)
    return {"updateDate": alias.updated / 1000}


def describe_alias(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeStateMachineAlias."""
    arn = params["stateMachineAliasArn"]
    _, alias = _alias(engine, arn)
    shape: dict[str, Any] = {
        "stateMachineAliasArn": arn,
        "name": alias.name,
        "routingConfiguration": [
            {"stateMachineVersionArn": version, "weight": weight}
            for version, weight in alias.routes
        ],
        "creationDate": alias.created / 1000,
        "updateDate": alias.updated / 1000,
    }
    if alias.description is not None:
        shape["description"] = alias.description
    return shape


def delete_alias(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DeleteStateMachineAlias."""
    try:
        machine, alias = _alias(engine, params["stateMachineAliasArn"])
    except ApiError as refusal:
        if refusal.code in ("ResourceNotFound", "StateMachineDoesNotExist"):
            return {}
        raise
    del machine.aliases[alias.name]
    engine.machines.changed(machine)
    return {}


def list_aliases(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """ListStateMachineAliases."""
    arn = params["stateMachineArn"]
    machine, version = engine.machines.split(arn)
    shapes = [
        {
            "stateMachineAliasArn": f"{machine.arn}:{alias.name}",
            "creationDate": alias.created / 1000,
        }
        for alias in machine.aliases.values()
        if version is None or any(route == arn for route, _ in alias.routes)
    ]
    page, following = result_page(params, shapes)
    return {"stateMachineAliases": page, **following}


def _alias(engine: Engine, arn: str) -> tuple[StateMachine, Alias]:
    try:
        machine, name = engine.machines.split(arn)
        return machine, machine.aliases[name or ""]
    except (KeyError, ApiError) as problem:
        sentence = "Request references a resource that does not exist."
        raise ApiError("ResourceNotFound", sentence) from problem


def _check_alias_name(name: str) -> None:
    if len(name) > _LONGEST_ALIAS:
        rule = f"Member must have length less than or equal to {_LONGEST_ALIAS}"
        raise invalid(name, "name", rule)
    if not _ALIAS.fullmatch(name):
        pattern = r"^(?=.*[a-zA-Z_\-\.])[a-zA-Z0-9_\-\.]+$"
        rule = f"Member must satisfy regular expression pattern: {pattern}"
        raise invalid(name, "name", rule)


def _routes(engine: Engine, entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    if len(entries) > _MOST_ROUTES:
        told = ", ".join(
            f"RoutingConfigurationListItem(stateMachineVersionArn={entry['stateMachineVersionArn']},"
            f" weight={entry['weight']})"
            for entry in entries
        )
        rule = f"Member must have length less than or equal to {_MOST_ROUTES}"
        raise invalid(f"[{told}]", "routingConfiguration", rule)
    routes = [(entry["stateMachineVersionArn"], entry["weight"]) for entry in entries]
    for number, (_, weight) in enumerate(routes, 1):
        if weight > _ALL_WEIGHT:
            rule = f"Member must have value less than or equal to {_ALL_WEIGHT}"
            raise invalid(weight, f"routingConfiguration.{number}.member.weight", rule)
    arns = [arn for arn, _ in routes]
    told = f"[{', '.join(arns)}]"
    if len(set(arns)) < len(arns):
        rule = "Routing configuration must contain distinct state machine version ARNs."
        sentence = f"{rule} Received: {told}"
        raise ApiError("ValidationException", sentence)
    _check_routes(engine, routes, told)
    return routes


def _check_routes(engine: Engine, routes: Sequence[tuple[str, int]], told: str) -> None:
    if any(not arn.rsplit(":", 1)[-1].isdigit() for arn, _ in routes):
        sentence = (
            f"Routing configuration must contain state machine version ARNs. Received: {told}"
        )
        raise ApiError("ValidationException", sentence)
    weights = [weight for _, weight in routes]
    if sum(weights) != _ALL_WEIGHT:
        sentence = f"Sum of routing configuration weights must equal 100. Received: {weights}"
        raise ApiError("ValidationException", sentence)
    for arn, _ in routes:
        engine.machines.target(arn)


def _routed_machine(engine: Engine, routes: Sequence[tuple[str, int]]) -> StateMachine:
    machines = {engine.machines.split(arn)[0].arn for arn, _ in routes}
    if len(machines) > 1:
        sentence = "Routing configuration must contain versions of the same state machine."
        raise ApiError("ValidationException", sentence)
    return engine.machines.get(machines.pop())


OPERATIONS: Final[Mapping[str, Callable[[Engine, Mapping[str, Any]], Any]]] = {
    "CreateStateMachineAlias": create_alias,
    "DeleteStateMachineAlias": delete_alias,
    "DeleteStateMachineVersion": delete_version,
    "DescribeStateMachineAlias": describe_alias,
    "ListStateMachineAliases": list_aliases,
    "ListStateMachineVersions": list_versions,
    "PublishStateMachineVersion": publish,
    "UpdateStateMachineAlias": update_alias,
}
