"""Operations on activities."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from local.stepfunctions.activities import Activity
from local.stepfunctions.api.parameters import read_tags, result_page
from local.stepfunctions.engine import Engine


def create(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """CreateActivity."""
    activity = engine.activities.create(params["name"])
    activity.tags |= read_tags(params.get("tags"))
    engine.activities.changed(activity)
    return {"activityArn": activity.arn, "creationDate": activity.created / 1000}


def describe(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeActivity."""
    return _shape(engine.activities.get(params["activityArn"]))


def listed(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """ListActivities, by name."""
    activities, following = result_page(params, list(engine.activities))
    return {"activities": [_shape(activity) for activity in activities], **following}


def delete(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """DeleteActivity."""
    engine.activities.delete(params["activityArn"])
    return {}


async def take(engine: Engine, params: Mapping[str, Any]) -> dict[str, Any]:
    """GetActivityTask: waits up to a minute for a task."""
    arn, worker = params["activityArn"], params.get("workerName")
    command = await engine.activities.wait_and_take(engine, arn, worker)
    if command is None:
        return {}
    return {"taskToken": command.token, "input": command.arguments.text}


def _shape(activity: Activity) -> dict[str, Any]:
    return {
        "activityArn": activity.arn,
        "name": activity.name,
        "creationDate": activity.created / 1000,
        "encryptionConfiguration": {"type": "AWS_OWNED_KEY"},
    }


OPERATIONS: Final[Mapping[str, Callable[[Engine, Mapping[str, Any]], Any]]] = {
    "CreateActivity": create,
    "DeleteActivity": delete,
    "DescribeActivity": describe,
    "GetActivityTask": take,
    "ListActivities": listed,
}
