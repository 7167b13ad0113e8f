"""Powertools idempotency on moto's DynamoDB: the second delivery gets the first one's result."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord

from autoops.adapters import idempotency
from autoops.adapters.idempotency import run_once
from autoops.domain.contracts import Json
from autoops.errors import CallInProgress, DependencyUnavailable, ModelThrottled
from fakes import FakeContext, Killed
from integration.aws import aws, table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@pytest.fixture
def dynamodb(monkeypatch: pytest.MonkeyPatch) -> "Iterator[DynamoDBClient]":
    with aws():
        made = table("Idempotency")
        layer = DynamoDBPersistenceLayer(table_name="Idempotency", boto3_client=made)
        monkeypatch.setattr(idempotency, "_records", lambda: layer)
        yield made


def counted(result: Json) -> tuple[list[int], Callable[[], Json]]:
    runs: list[int] = []

    def work() -> Json:
        runs.append(1)
        return result

    return runs, work


@pytest.mark.usefixtures("dynamodb")
def test_a_second_delivery_gets_the_first_ones_result_and_does_nothing() -> None:
    result = {"cost": "0.10", "n": 3, "list": [1, 2.5], "none": None, "text": "größe"}
    runs, work = counted(result)
    first, second = (run_once("r1/PersistAnswer", work, FakeContext()) for _ in range(2))
    assert first == second == result
    assert runs == [1]


@pytest.mark.usefixtures("dynamodb")
def test_two_identities_share_nothing() -> None:
    runs, work = counted({"x": 1})
    run_once("r1", work, FakeContext())
    run_once("r2", work, FakeContext())
    assert runs == [1, 1]


@pytest.mark.usefixtures("dynamodb")
def test_a_delivery_that_failed_may_run_again() -> None:
    def fails() -> Json:
        raise ModelThrottled("bedrock: ThrottlingException")

    with pytest.raises(ModelThrottled):
        run_once("r1", fails, FakeContext())
    runs, work = counted({})
    run_once("r1", work, FakeContext())
    assert runs == [1]


@pytest.mark.usefixtures("dynamodb")
def test_while_one_delivery_is_at_work_another_waits() -> None:
    def inner() -> Json:
        return run_once("r1", dict, FakeContext())

    with pytest.raises(CallInProgress):
        run_once("r1", inner, FakeContext())


@pytest.mark.usefixtures("dynamodb")
def test_a_delivery_that_died_frees_its_place_when_its_time_is_over() -> None:
    def dies() -> Json:
        raise Killed("timeout")

    with pytest.raises(Killed):
        run_once("r1", dies, FakeContext(remaining=0))
    runs, work = counted({})
    run_once("r1", work, FakeContext(remaining=30_000))
    assert runs == [1]


@pytest.mark.usefixtures("dynamodb")
def test_a_delivery_that_died_holds_its_place_while_its_time_runs() -> None:
    def dies() -> Json:
        raise Killed("timeout")

    with pytest.raises(Killed):
        run_once("r1", dies, FakeContext(remaining=60_000))
    with pytest.raises(CallInProgress):
        run_once("r1", dict, FakeContext())


def test_a_record_that_has_expired_counts_as_gone_before_it_is_deleted(
    dynamodb: "DynamoDBClient",
) -> None:
    runs, work = counted({})
    run_once("r1", work, FakeContext())
    (item,) = dynamodb.scan(TableName="Idempotency")["Items"]
    dynamodb.put_item(TableName="Idempotency", Item={**item, "expiration": {"N": "1"}})
    run_once("r1", work, FakeContext())
    assert runs == [1, 1]


def test_deliveries_that_meet_at_the_record_are_told_to_come_again(
    dynamodb: "DynamoDBClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    class Torn(DynamoDBPersistenceLayer):
        def save_inprogress(self, *_: object, **__: object) -> None:
            raise IdempotencyItemAlreadyExistsError

        def get_record(self, *_: object, **__: object) -> DataRecord:
            raise IdempotencyItemNotFoundError

    layer = Torn(table_name="Idempotency", boto3_client=dynamodb)
    monkeypatch.setattr(idempotency, "_records", lambda: layer)
    with pytest.raises(CallInProgress):
        run_once("r1", dict, FakeContext())


def test_without_its_table_the_step_does_not_run(dynamodb: "DynamoDBClient") -> None:
    dynamodb.delete_table(TableName="Idempotency")
    runs, work = counted({})
    with pytest.raises(DependencyUnavailable):
        run_once("r1", work, FakeContext())
    assert runs == []
