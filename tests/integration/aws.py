"""AWS in process by moto, with the tables that infra/storage.yaml declares; no socket is opened."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import boto3
import pytest
import yaml
from moto import mock_aws

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

STORAGE: Final = Path(__file__).parents[2] / "infra" / "storage.yaml"
BUCKET: Final = "bucket"


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's tags, which say nothing about a table's keys."""


_Loader.add_multi_constructor("!", lambda _loader, _suffix, _node: None)


@contextmanager
def aws() -> Iterator[None]:
    """AWS by moto, with credentials that are none."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        environment.setenv("AWS_ACCESS_KEY_ID", "none")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "none")
        environment.delenv("AWS_ENDPOINT_URL", raising=False)
        with mock_aws():
            yield


def table(resource: str) -> "DynamoDBClient":
    """A client of DynamoDB that holds one table of the template, named like its resource."""
    declared = declaration(resource)
    dynamodb = boto3.client("dynamodb")
    dynamodb.create_table(
        TableName=resource,
        **{
            name: declared[name]
            for name in (
                "AttributeDefinitions",
                "KeySchema",
                "GlobalSecondaryIndexes",
                "BillingMode",
            )
            if name in declared
        },
    )
    return dynamodb


def emptied(dynamodb: "DynamoDBClient", resource: str) -> None:
    """Delete every item of the table."""
    keys = [key["AttributeName"] for key in declaration(resource)["KeySchema"]]
    for page in dynamodb.get_paginator("scan").paginate(TableName=resource):
        for item in page["Items"]:
            dynamodb.delete_item(TableName=resource, Key={key: item[key] for key in keys})


def bucket() -> "S3Client":
    """A client of S3 that holds one bucket."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    return s3


def declaration(resource: str) -> Mapping[str, Any]:
    """The properties of a resource of infra/storage.yaml."""
    template = yaml.load(STORAGE.read_text("utf-8"), Loader=_Loader)  # noqa: S506  # safe loader
    properties: Mapping[str, Any] = template["Resources"][resource]["Properties"]
    return properties
