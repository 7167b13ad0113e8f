"""Makes what the template declares: tables, buckets, indexes, buses, functions, machines."""

from collections.abc import Callable, Mapping
from typing import Any

from local.lambdas.functions import LambdaFunction
from local.stepfunctions.engine import Engine
from local.template.model import Function
from local.template.template import Template

Client = Callable[[str], Any]


def make_stores(template: Template, client: Client) -> None:
    """Create tables, buckets, vector indexes and event buses through the services' own APIs."""
    for table in template.tables.values():
        client("dynamodb").create_table(**table.create)
        if table.ttl_attribute:
            client("dynamodb").update_time_to_live(
                TableName=table.name,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": table.ttl_attribute},
            )
    for bucket in template.buckets.values():
        client("s3").create_bucket(Bucket=bucket.name)
    for vectors in template.vector_buckets.values():
        client("s3vectors").create_vector_bucket(vectorBucketName=vectors.name)
    for index in template.vector_indexes.values():
        client("s3vectors").create_index(**index.create)
        _search_words(client("s3vectors"), index.bucket, index.name)
    for bus in template.buses.values():
        client("events").create_event_bus(Name=bus.name)


def _search_words(s3vectors: Any, bucket: str, index: str) -> None:
    """Make the chunks' text searchable; CloudFormation has no property for it yet."""
    where = {"vectorBucketName": bucket, "indexName": index}
    s3vectors.update_index_mode(**where, indexMode="ENHANCED")
    s3vectors.update_metadata_configuration(
        **where, add={"textSearchConfigurations": [{"metadataKey": "text", "language": "en"}]}
    )


def make_machines(template: Template, engine: Engine, prefix: str) -> Mapping[str, str]:
    """Create each machine and publish its first version; ARNs by workflow name without prefix."""
    machines = {}
    for machine in template.machines.values():
        arn = engine.create_state_machine(
            name=machine.name, definition=machine.definition, type=machine.type
        )
        engine.publish_version(arn)
        machines[machine.name.removeprefix(prefix)] = arn
    return machines


def functions_of(template: Template) -> list[LambdaFunction]:
    """The template's functions as the laptop runs them."""
    return [_function(function) for function in template.functions.values()]


def _function(function: Function) -> LambdaFunction:
    return LambdaFunction(
        name=function.name,
        handler=function.handler,
        timeout=function.timeout,
        memory=function.memory,
        environment=function.environment,
        concurrency=function.concurrency or 1000,
        layers=function.layers,
    )
