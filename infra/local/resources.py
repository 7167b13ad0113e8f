"""Makes what the template declares: tables, buckets, indexes, buses, functions, machines."""

from collections.abc import Mapping
from typing import Final

from local.aws import Moto
from local.lambdas.functions import LambdaFunction, Preload
from local.stepfunctions.engine import Engine
from local.template.model import Function, VectorIndex
from local.template.template import Template
from local.vectors.store import VectorStore

DYNAMODB: Final = "DynamoDB_20120810"
SLOW_LAYERS: Final = {"BedrockLayer": "langchain_aws"}


def make_stores(template: Template, moto: Moto, vectors: VectorStore) -> None:
    """Create tables, buckets, vector indexes and event buses."""
    for table in template.tables.values():
        moto.ask("dynamodb", f"{DYNAMODB}.CreateTable", table.create)
        if table.ttl_attribute:
            ttl = {"Enabled": True, "AttributeName": table.ttl_attribute}
            setting = {"TableName": table.name, "TimeToLiveSpecification": ttl}
            moto.ask("dynamodb", f"{DYNAMODB}.UpdateTimeToLive", setting)
    for bucket in template.buckets.values():
        moto.put_object(bucket.name, "", b"")
    for bus in template.buses.values():
        moto.ask("events", "AWSEvents.CreateEventBus", {"Name": bus.name})
    for vector_bucket in template.vector_buckets.values():
        vectors.create_bucket(vector_bucket.name)
    for index in template.vector_indexes.values():
        _make_index(index, vectors)


def _make_index(index: VectorIndex, vectors: VectorStore) -> None:
    """An index whose chunks can be searched by words: CloudFormation has no property for it."""
    configured = index.create.get("metadataConfiguration", {})
    vectors.create_index(
        vectors.bucket(index.bucket),
        index.name,
        index.create["dimension"],
        index.create["distanceMetric"],
        not_filterable=frozenset(configured.get("nonFilterableMetadataKeys", ())),
        searchable=(("text", None),),
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
        log_format=function.log_format,
        event_retries=function.event_retries,
        preload=_preload(function),
        layers=function.layers,
    )


def _preload(function: Function) -> Preload:
    """What a function's layers hold that takes long to import, ahead of its first invocation."""
    slow = [
        module
        for layer, module in SLOW_LAYERS.items()
        if any(layer in arn for arn in function.layers)
    ]
    return Preload().with_modules(*slow)
