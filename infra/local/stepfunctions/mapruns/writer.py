"""ResultWriter: the results of a map run as files in S3, with a manifest."""

from collections.abc import Callable
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from local.stepfunctions.clock import iso
from local.stepfunctions.errors import StatesError
from local.stepfunctions.jsontext import JsonValue, dumps
from local.stepfunctions.run import Run, Status

FAILED: Final = "States.ResultWriterFailed"
_GROUPS: Final = {"SUCCEEDED": ("SUCCEEDED",), "FAILED": ("FAILED", "TIMED_OUT", "ABORTED"),
                  "PENDING": ()}  # fmt: skip


def write_results(
    clients: Callable[[str], Any] | None,
    writer: dict[str, Any],
    map_run_arn: str,
    children: list[Run],
) -> dict[str, Any]:
    """Write the results; called in a thread.

    Args:
        clients: makes boto3 clients.
        writer: Resource, Arguments and WriterConfig, evaluated.
        map_run_arn: the map run.
        children: its executions in order.

    Returns:
        The Map state's output: where the manifest is, or the results where nothing is written.

    Raises:
        StatesError: States.ResultWriterFailed.
    """
    config = writer.get("WriterConfig") or {}
    if "Resource" not in writer:
        return {"Results": _shaped(children, config)}
    if clients is None:
        raise StatesError(FAILED, "No AWS clients are configured")
    arguments = writer.get("Arguments") or {}
    if "Bucket" not in arguments:
        raise StatesError(FAILED, "The field 'Bucket' is required but was missing")
    bucket = arguments["Bucket"]
    folder = f"{arguments.get('Prefix', '').rstrip('/')}/{map_run_arn.rsplit(':', 1)[1]}".lstrip(
        "/"
    )
    s3 = clients("s3")
    try:
        files = _write_files(s3, bucket, folder, children, config)
        manifest = {"DestinationBucket": bucket, "MapRunArn": map_run_arn, "ResultFiles": files}
        key = f"{folder}/manifest.json"
        s3.put_object(Bucket=bucket, Key=key, Body=dumps(manifest).encode())
    except (ClientError, BotoCoreError) as error:
        raise StatesError(FAILED, str(error)) from error
    return {"MapRunArn": map_run_arn, "ResultWriterDetails": {"Bucket": bucket, "Key": key}}


def _write_files(
    s3: Any,
    bucket: str,
    folder: str,
    children: list[Run],
    config: dict[str, Any],
) -> dict[str, list[dict[str, Any]]]:
    files: dict[str, list[dict[str, Any]]] = {}
    lines = config.get("OutputType") == "JSONL"
    for group, statuses in _GROUPS.items():
        shapes = _shaped([child for child in children if child.status in statuses], config)
        files[group] = []
        if not shapes:
            continue
        key = f"{folder}/{group}_0.{'jsonl' if lines else 'json'}"
        text = "\n".join(dumps(shape) for shape in shapes) if lines else dumps(shapes)
        s3.put_object(Bucket=bucket, Key=key, Body=text.encode())
        files[group].append({"Key": key, "Size": len(text.encode())})
    return files


def _shaped(children: list[Run], config: dict[str, Any]) -> list[JsonValue]:
    transformation = config.get("Transformation", "NONE")
    shapes: list[JsonValue] = []
    for child in children:
        if transformation == "NONE" or child.status is not Status.SUCCEEDED:
            shapes.append(_execution(child))
            continue
        output = None if child.output is None else child.output.data
        if transformation == "FLATTEN" and isinstance(output, list):
            shapes += output
        else:
            shapes.append(output)
    return shapes


def _execution(child: Run) -> dict[str, Any]:
    identity = child.identity
    shape: dict[str, Any] = {
        "ExecutionArn": identity.arn,
        "Input": child.input.text,
        "InputDetails": {"Included": True},
        "Name": identity.name,
        "StartDate": iso(child.started),
        "StateMachineArn": identity.machine_arn,
        "Status": str(child.status),
        "StopDate": iso(child.stopped or child.started),
    }
    if child.output is not None:
        shape |= {"Output": child.output.text, "OutputDetails": {"Included": True}}
    for name, value in (("Error", child.error), ("Cause", child.cause)):
        if value is not None:
            shape[name] = value
    return dict(sorted(shape.items()))
