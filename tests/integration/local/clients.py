"""boto3 clients of the laptop's AWS."""

from typing import Any

import boto3
from botocore.config import Config
from mypy_boto3_dynamodb import DynamoDBClient
from mypy_boto3_events import EventBridgeClient
from mypy_boto3_lambda import LambdaClient
from mypy_boto3_s3 import S3Client


def options(url: str) -> dict[str, Any]:
    """Arguments for boto3.client."""
    return {
        "endpoint_url": url,
        "region_name": "us-east-1",
        "aws_access_key_id": "AKIALOCALLOCALLOCAL0",
        "aws_secret_access_key": "local",
        "config": Config(
            retries={"total_max_attempts": 1},
            connect_timeout=5,
            read_timeout=30,
            max_pool_connections=50,
        ),
    }


def dynamodb_client(url: str) -> DynamoDBClient:
    return boto3.client("dynamodb", **options(url))


def events_client(url: str) -> EventBridgeClient:
    return boto3.client("events", **options(url))


def lambda_client(url: str) -> LambdaClient:
    return boto3.client("lambda", **options(url))


def s3_client(url: str) -> S3Client:
    return boto3.client("s3", **options(url))
