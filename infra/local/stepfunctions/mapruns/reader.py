"""ItemReader: arrays, lines, tables, listings and manifests from S3."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from local.stepfunctions.errors import StatesError
from local.stepfunctions.jsontext import JsonValue

FAILED: Final = "States.ItemReaderFailed"
_MOST_ITEMS: Final = 100_000_000
_DELIMITERS: Final = {
    "COMMA": ",",
    "PIPE": "|",
    "SEMICOLON": ";",
    "SPACE": " ",
    "TAB": "\t",
}


def read_items(clients: Callable[[str], Any] | None, reader: dict[str, Any]) -> list[Any]:
    """Read what a Distributed Map maps over; called in a thread.

    Args:
        clients: makes boto3 clients.
        reader: Resource, Arguments and ReaderConfig, evaluated.

    Raises:
        StatesError: States.ItemReaderFailed with AWS's cause.
    """
    if clients is None:
        raise StatesError(FAILED, "No AWS clients are configured")
    config = reader.get("ReaderConfig") or {}
    most = config.get("MaxItems")
    if most is not None and most < 0:
        raise StatesError(FAILED, "field MaxItems must be positive")
    limit = min(int(most), _MOST_ITEMS) if most else None
    try:
        items = _items(
            clients("s3"), str(reader["Resource"]), reader.get("Arguments") or {}, config
        )
        return list(islice(items, limit))
    except (ClientError, BotoCoreError) as error:
        raise StatesError(FAILED, str(error)) from error
    except KeyError as missing:
        raise StatesError(FAILED, f"The field {missing} is required but was missing") from missing
    except (ValueError, csv.Error) as problem:
        raise StatesError(FAILED, f"Unable to parse the file: {problem}") from problem


def _items(
    s3: Any,
    resource: str,
    arguments: dict[str, Any],
    config: dict[str, Any],
) -> Iterator[JsonValue]:
    if resource.endswith(":listObjectsV2"):
        return _listing(s3, arguments)
    kind = config.get("InputType", "JSON")
    if kind == "MANIFEST":
        return _manifest(s3, arguments, config)
    return _parsed(_body(s3, arguments), kind, config)


def _body(s3: Any, arguments: dict[str, Any]) -> str:
    key = str(arguments["Key"])
    body: bytes = s3.get_object(Bucket=arguments["Bucket"], Key=key)["Body"].read()
    # The files of an S3 inventory are compressed.
    return (gzip.decompress(body) if key.endswith(".gz") else body).decode("utf-8-sig")


def _parsed(text: str, kind: str, config: dict[str, Any]) -> Iterator[JsonValue]:
    if kind == "JSONL":
        return (json.loads(line) for line in text.splitlines() if line.strip())
    if kind == "CSV":
        return _table(text, config)
    if kind != "JSON":
        raise StatesError(FAILED, f"Unsupported InputType: {kind}")
    try:
        value = json.loads(text)
    except ValueError as problem:
        raise StatesError(FAILED, f"Unable to parse the JSON file: {problem}") from problem
    pointer = config.get("ItemsPointer")
    if pointer:
        value = _pointed(value, str(pointer))
    if not isinstance(value, list):
        raise StatesError(FAILED, "Attempting to map over non-iterable node.")
    return iter(value)


def _pointed(value: JsonValue, pointer: str) -> JsonValue:
    for step in pointer.strip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or key not in value:
            raise StatesError(FAILED, f"ItemsPointer {pointer} points to nothing.")
        value = value[key]
    return value


def _table(text: str, config: dict[str, Any]) -> Iterator[JsonValue]:
    delimiter = _DELIMITERS.get(config.get("CSVDelimiter", "COMMA"), ",")
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    if config.get("CSVHeaderLocation") == "GIVEN":
        headers = list(config.get("CSVHeaders") or [])
    else:
        headers = next(rows, [])
    if len(set(headers)) < len(headers):
        raise StatesError(FAILED, "CSV headers cannot contain duplicates.")
    for row in rows:
        if row:
            # A short row has empty fields, a long one loses what has no header.
            yield dict(zip(headers, [*row, *[""] * len(headers)], strict=False))


def _listing(s3: Any, arguments: dict[str, Any]) -> Iterator[JsonValue]:
    for page in s3.get_paginator("list_objects_v2").paginate(**arguments):
        for entry in page.get("Contents", ()):
            yield {
                "Etag": entry["ETag"],
                "Key": entry["Key"],
                "LastModified": int(entry["LastModified"].timestamp()),
                "Size": entry["Size"],
                "StorageClass": entry.get("StorageClass", "STANDARD"),
            }


def _manifest(
    s3: Any,
    arguments: dict[str, Any],
    config: dict[str, Any],
) -> Iterator[JsonValue]:
    """An S3 Inventory manifest: CSV files whose columns `fileSchema` names."""
    manifest = json.loads(_body(s3, arguments))
    bucket = str(manifest["destinationBucket"]).removeprefix("arn:aws:s3:::")
    headers = [name.strip() for name in str(manifest["fileSchema"]).split(",")]
    given = {**config, "CSVHeaderLocation": "GIVEN", "CSVHeaders": headers}
    for file in manifest["files"]:
        yield from _table(_body(s3, {"Bucket": bucket, "Key": file["key"]}), given)
