"""Operations on state machines and their tags."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from local.stepfunctions.activities import Activity
from local.stepfunctions.api.logging_configuration import check_logging
from local.stepfunctions.api.parameters import read_tags, result_page
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import ApiError
from local.stepfunctions.names import check_arn
from local.stepfunctions.references import variable_references
from local.stepfunctions.registry import Revision, StateMachine
from local.stepfunctions.validation import diagnose

_SETTINGS: Final = ("loggingConfiguration", "tracingConfiguration", "encryptionConfiguration")
_NO_LOGGING: Final = {"level": "OFF", "includeExecutionData": False}
_NO_TRACING: Final = {"enabled": False}
_OWNED_KEY: Final = {"type": "AWS_OWNED_KEY"}


def create(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """CreateStateMachine."""
    if "versionDescription" in params and not params.get("publish"):
        raise ApiError(
            "ValidationException", "Version description can only be set when publish is true"
        )
    settings = {name: params[name] for name in _SETTINGS if name in params}
    check_logging(settings.get("loggingConfiguration"))
    machine = engine.machines.create(
        params["name"],
        params["definition"],
        params.get("type", "STANDARD"),
        params["roleArn"],
        settings,
    )
    if params.get("tags"):
        machine.tags |= read_tags(params["tags"])
        engine.machines.changed(machine)
    answer = {"stateMachineArn": machine.arn, "creationDate": machine.created / 1000}
    if params.get("publish"):
        description = params.get("versionDescription")
        version = engine.machines.publish(machine.arn, None, description)
        answer["stateMachineVersionArn"] = machine.version_arn(version.number)
    return answer


def update(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """UpdateStateMachine."""
    settings = {name: params[name] for name in _SETTINGS if name in params}
    definition, role = params.get("definition"), params.get("roleArn")
    if definition is None and role is None and not settings:
        sentence = (
            "Either the definition, the role ARN, the LoggingConfiguration, or the"
            " TracingConfiguration must be specified"
        )
        raise ApiError("MissingRequiredParameter", sentence)
    check_logging(settings.get("loggingConfiguration"))
    machine = engine.machines.update(params["stateMachineArn"], definition, role, settings)
    answer: dict[str, Any] = {
        "updateDate": machine.revision.at / 1000,
        "revisionId": machine.revision.id,
    }
    if params.get("publish"):
        description = params.get("versionDescription")
        version = engine.machines.publish(machine.arn, None, description)
        answer["stateMachineVersionArn"] = machine.version_arn(version.number)
    return answer


def describe(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeStateMachine: a machine, a version or an alias."""
    arn = params["stateMachineArn"]
    target = engine.machines.target(arn)
    shape = described(target.machine, target.revision)
    if target.version_arn is None:
        return shape
    number = int(target.version_arn.rsplit(":", 1)[1])
    version = target.machine.versions[number]
    shape |= {"stateMachineArn": arn, "creationDate": version.created / 1000}
    shape.pop("revisionId", None)
    if version.revision.id != "INITIAL":
        shape["revisionId"] = version.revision.id
    if version.description is not None:
        shape["description"] = version.description
    return shape


def described(machine: StateMachine, revision: Revision) -> dict[str, Any]:
    """A machine with one of its definitions, as DescribeStateMachine answers."""
    settings = machine.settings
    shape: dict[str, Any] = {
        "stateMachineArn": machine.arn,
        "name": machine.name,
        "status": "ACTIVE",
        "definition": revision.definition,
        "roleArn": revision.role_arn,
        "type": machine.type,
        "creationDate": machine.created / 1000,
        "loggingConfiguration": settings.get("loggingConfiguration", _NO_LOGGING),
        "tracingConfiguration": settings.get("tracingConfiguration", _NO_TRACING),
        "encryptionConfiguration": settings.get("encryptionConfiguration", _OWNED_KEY),
    }
    if revision.id != "INITIAL":
        shape["revisionId"] = revision.id
    references = variable_references(revision.definition)
    if references:
        shape["variableReferences"] = references
    return shape


def describe_for_execution(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeStateMachineForExecution: the definition an execution runs."""
    run = engine.run(params["executionArn"])
    machine = engine.machines.get(run.identity.machine_arn)
    shape = described(machine, engine.revision(params["executionArn"]))
    shape["updateDate"] = shape.pop("creationDate")
    for name in ("status", "type"):
        del shape[name]
    if run.identity.map_run_arn is not None:
        shape["mapRunArn"] = run.identity.map_run_arn
        shape["label"] = run.identity.map_run_arn.split("/", 1)[1].split(":", 1)[0]
    return shape


def listed(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """ListStateMachines, by name."""
    machines, following = result_page(params, list(engine.machines))
    shapes = [
        {
            "stateMachineArn": machine.arn,
            "name": machine.name,
            "type": machine.type,
            "creationDate": machine.created / 1000,
        }
        for machine in machines
    ]
    return {"stateMachines": shapes, **following}


def delete(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DeleteStateMachine."""
    engine.machines.delete(params["stateMachineArn"])
    return {}


def validate(_: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """ValidateStateMachineDefinition."""
    _definition, found = diagnose(params["definition"], params.get("type", "STANDARD"))
    severity = params.get("severity", "ERROR")
    most = params.get("maxResults") or 100
    told = [entry for entry in found if entry.severity == "ERROR" or severity == "WARNING"]
    shapes = []
    for entry in told[:most]:
        shape = {"severity": entry.severity, "code": entry.code, "message": entry.message}
        if entry.location is not None:
            shape["location"] = entry.location
        shapes.append(shape)
    failed = any(entry.severity == "ERROR" for entry in told)
    return {
        "result": "FAIL" if failed else "OK",
        "diagnostics": shapes,
        "truncated": len(told) > most,
    }


def _tagged(engine: Engine, arn: str) -> StateMachine | Activity:
    check_arn(arn, "stateMachine", "activity")
    try:
        if ":activity:" in arn:
            return engine.activities.get(arn)
        return engine.machines.get(arn)
    except ApiError as refusal:
        raise ApiError("ResourceNotFound", f"Resource not found: '{arn}'") from refusal


def _keep(engine: Engine, tagged: StateMachine | Activity) -> None:
    if isinstance(tagged, StateMachine):
        engine.machines.changed(tagged)
    else:
        engine.activities.changed(tagged)


def tag(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """TagResource."""
    tagged = _tagged(engine, params["resourceArn"])
    tagged.tags |= read_tags(params["tags"])
    _keep(engine, tagged)
    return {}


def untag(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """UntagResource."""
    tagged = _tagged(engine, params["resourceArn"])
    for key in params["tagKeys"]:
        tagged.tags.pop(key, None)
    _keep(engine, tagged)
    return {}


def list_tags(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """ListTagsForResource."""
    tags = _tagged(engine, params["resourceArn"]).tags
    return {"tags": [{"key": key, "value": value} for key, value in tags.items()]}


OPERATIONS: Final[Mapping[str, Callable[[Engine, Mapping[str, Any]], Any]]] = {
    "CreateStateMachine": create,
    "DeleteStateMachine": delete,
    "DescribeStateMachine": describe,
    "DescribeStateMachineForExecution": describe_for_execution,
    "ListStateMachines": listed,
    "ListTagsForResource": list_tags,
    "TagResource": tag,
    "UntagResource": untag,
    "UpdateStateMachine": update,
    "ValidateStateMachineDefinition": validate,
}
