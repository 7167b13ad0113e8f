import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.models import dynamodb_backends
from mypy_boto3_dynamodb import DynamoDBClient

from integration.local.clients import dynamodb_client
from local.aws import Moto, moto_services
from local.constants import ACCOUNT, REGION
from local.dynamodb import Fault
from local.gateway import bind, gateway, serving

Item = dict[str, Any]


class Ledger:
    """A table with one counter in it, asked through boto3."""

    def __init__(self, boto: DynamoDBClient) -> None:
        self.boto = boto

    async def call(self, operation: str, **arguments: Any) -> Any:
        return await asyncio.to_thread(getattr(self.boto, operation), **arguments)

    async def create(self) -> None:
        await self.call(
            "create_table",
            TableName="Ledger",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": "PK", "AttributeType": "S"},
                {"AttributeName": "SK", "AttributeType": "S"},
            ],
            KeySchema=[
                {"AttributeName": "PK", "KeyType": "HASH"},
                {"AttributeName": "SK", "KeyType": "RANGE"},
            ],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )
        await self.call("put_item", TableName="Ledger", Item={**key("a"), "n": {"N": "5"}})

    async def get(self, name: str) -> Item | None:
        answer = await self.call("get_item", TableName="Ledger", Key=key(name))
        item: Item | None = answer.get("Item")
        return item

    async def write(self, *actions: Item, **arguments: Any) -> None:
        await self.call("transact_write_items", TransactItems=list(actions), **arguments)

    async def refused(self, *actions: Item, **arguments: Any) -> dict[str, Any]:
        with pytest.raises(ClientError) as refused:
            await self.write(*actions, **arguments)
        return dict(refused.value.response)

    async def reasons(self, *actions: Item) -> list[str]:
        response = await self.refused(*actions)
        assert response["Error"]["Code"] == "TransactionCanceledException", response["Error"]
        return [reason["Code"] for reason in response["CancellationReasons"]]


def key(name: str) -> Item:
    return {"PK": {"S": name}, "SK": {"S": "x"}}


def put(name: str, **more: Any) -> Item:
    return {"Put": {"TableName": "Ledger", "Item": {**key(name), "n": {"N": "1"}}, **more}}


def take(name: str, amount: int, **more: Any) -> Item:
    return {
        "Update": {
            "TableName": "Ledger",
            "Key": key(name),
            "UpdateExpression": "SET n = n - :amount",
            "ConditionExpression": "n >= :amount",
            "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
            **more,
        }
    }


def delete(name: str) -> Item:
    return {"Delete": {"TableName": "Ledger", "Key": key(name)}}


def absent(name: str) -> Item:
    condition = "attribute_not_exists(PK)"
    return {
        "ConditionCheck": {
            "TableName": "Ledger",
            "Key": key(name),
            "ConditionExpression": condition,
        }
    }


@pytest.fixture
async def ledger(moto: Moto) -> AsyncIterator[Ledger]:
    async with serving(gateway(moto_services(moto)), bind(0)) as url:
        ledger = Ledger(dynamodb_client(url))
        await ledger.create()
        yield ledger


async def test_a_transaction_applies_all_of_its_actions(ledger: Ledger) -> None:
    await ledger.write(put("b"))
    await ledger.write(take("a", 2), put("c"), delete("b"), absent("z"))
    assert await ledger.get("a") == {**key("a"), "n": {"N": "3"}}
    assert await ledger.get("b") is None
    assert await ledger.get("c") is not None


async def test_a_failed_condition_undoes_everything_and_names_each_reason(ledger: Ledger) -> None:
    await ledger.write(put("b"), put("c"))
    table = dynamodb_backends[ACCOUNT][REGION].tables["Ledger"]
    shard = table.stream_shard
    assert shard is not None
    records = len(shard.items)
    reasons = await ledger.reasons(take("a", 2), put("new"), delete("b"), absent("c"))
    assert reasons == ["None", "None", "None", "ConditionalCheckFailed"]
    assert await ledger.get("a") == {**key("a"), "n": {"N": "5"}}
    assert await ledger.get("b") is not None
    assert await ledger.get("new") is None
    assert len(shard.items) == records


async def test_a_failed_condition_gives_the_item_when_asked(ledger: Ledger) -> None:
    response = await ledger.refused(
        take("a", 9, ReturnValuesOnConditionCheckFailure="ALL_OLD"), put("b"), take("none", 1)
    )
    assert response["CancellationReasons"] == [
        {
            "Code": "ConditionalCheckFailed",
            "Message": "The conditional request failed",
            "Item": {**key("a"), "n": {"N": "5"}},
        },
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"},
    ]
    assert response["Error"]["Message"].endswith(
        "[ConditionalCheckFailed, None, ConditionalCheckFailed]"
    )


async def test_a_transaction_copies_no_more_than_it_touches(ledger: Ledger) -> None:
    await ledger.write(put("b"))
    table = dynamodb_backends[ACCOUNT][REGION].tables["Ledger"]
    others = [item for items in table.items.values() for item in items.values()]
    await ledger.reasons(put("new"), absent("a"))
    assert dynamodb_backends[ACCOUNT][REGION].tables["Ledger"] is table
    (b,) = [item for item in others if item.attrs["PK"].value == "b"]
    assert b in [item for items in table.items.values() for item in items.values()]


async def test_an_update_that_the_item_does_not_allow_cancels(ledger: Ledger) -> None:
    update = {
        "TableName": "Ledger",
        "Key": key("a"),
        "UpdateExpression": "SET n = owed + :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    assert await ledger.reasons(put("b"), {"Update": update}) == ["None", "ValidationError"]
    assert await ledger.get("b") is None


@pytest.mark.parametrize(
    ("actions", "code", "message"),
    [
        (
            [put("b"), delete("b")],
            "ValidationException",
            "Transaction request cannot include multiple operations on one item",
        ),
        ([put(str(n)) for n in range(101)], "ValidationException", "less than or equal to 100"),
        (
            [{"Delete": {"TableName": "Nowhere", "Key": key("a")}}],
            "ResourceNotFoundException",
            "Requested resource not found",
        ),
        (
            [{"Delete": {"TableName": "Ledger", "Key": {"PK": {"S": "a"}}}}],
            "ValidationException",
            "The provided key element does not match the schema",
        ),
    ],
)
async def test_a_wrong_transaction_is_refused(
    ledger: Ledger, actions: list[Item], code: str, message: str
) -> None:
    error = (await ledger.refused(*actions))["Error"]
    assert error["Code"] == code
    assert message in error["Message"]


async def test_a_hundred_items_fit_in_a_transaction(ledger: Ledger) -> None:
    await ledger.write(*[put(str(n)) for n in range(100)])
    assert await ledger.get("99") is not None


async def test_the_same_token_applies_once_and_refuses_other_parameters(ledger: Ledger) -> None:
    await ledger.write(take("a", 2), ClientRequestToken="t-1")
    await ledger.write(take("a", 2), ClientRequestToken="t-1")
    assert await ledger.get("a") == {**key("a"), "n": {"N": "3"}}
    error = (await ledger.refused(take("a", 1), ClientRequestToken="t-1"))["Error"]
    assert error["Code"] == "IdempotentParameterMismatchException"


async def test_a_token_of_a_cancelled_transaction_may_try_again(ledger: Ledger) -> None:
    await ledger.refused(take("a", 9), ClientRequestToken="t-1")
    await ledger.write(
        {"Put": {"TableName": "Ledger", "Item": {**key("a"), "n": {"N": "9"}}}},
    )
    await ledger.write(take("a", 9), ClientRequestToken="t-1")
    assert await ledger.get("a") == {**key("a"), "n": {"N": "0"}}


async def test_reading_in_a_transaction_projects_and_leaves_gaps(ledger: Ledger) -> None:
    gets = [
        {"Get": {"TableName": "Ledger", "Key": key("a"), "ProjectionExpression": "n"}},
        {"Get": {"TableName": "Ledger", "Key": key("none")}},
    ]
    answer = await ledger.call("transact_get_items", TransactItems=gets)
    assert answer["Responses"] == [{"Item": {"n": {"N": "5"}}}, {}]


async def test_transactions_at_once_lose_nothing(ledger: Ledger) -> None:
    await ledger.write(take("a", 5), put("b"))
    add = {
        "Update": {
            "TableName": "Ledger",
            "Key": key("a"),
            "UpdateExpression": "SET n = n + :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }
    await asyncio.gather(*[ledger.write(add, put("b")) for _ in range(30)])
    assert await ledger.get("a") == {**key("a"), "n": {"N": "30"}}


async def test_a_conflict_hits_the_item_that_it_is_for(ledger: Ledger, moto: Moto) -> None:
    moto.dynamodb.faults.append(Fault("TransactionConflict", table="Ledger", key=key("a")))
    assert await ledger.reasons(put("b"), take("a", 1)) == ["None", "TransactionConflict"]
    await ledger.write(put("b"), take("a", 1))
    assert await ledger.get("a") == {**key("a"), "n": {"N": "4"}}


Ask = Callable[[Ledger], Any]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault("TransactionConflict", "UpdateItem"), "TransactionConflictException"),
        (Fault("ThrottlingException", "UpdateItem"), "ThrottlingException"),
        (
            Fault("ProvisionedThroughputExceededException", table="Ledger"),
            "ProvisionedThroughputExceededException",
        ),
        (Fault("InternalServerError", key={"PK": {"S": "a"}}), "InternalServerError"),
    ],
)
async def test_a_fault_hits_the_next_matching_request_once(
    ledger: Ledger, moto: Moto, fault: Fault, code: str
) -> None:
    moto.dynamodb.faults.append(fault)
    update = {**take("a", 1)["Update"]}
    with pytest.raises(ClientError, match=re.escape(code)):
        await ledger.call("update_item", **update)
    await ledger.call("update_item", **update)
    assert await ledger.get("a") == {**key("a"), "n": {"N": "4"}}
    assert moto.dynamodb.faults == []


async def test_a_lost_answer_leaves_its_effect(ledger: Ledger, moto: Moto) -> None:
    moto.dynamodb.faults.append(Fault("InternalServerError", "TransactWriteItems", applied=True))
    error = (await ledger.refused(take("a", 1)))["Error"]
    assert error["Code"] == "InternalServerError"
    assert await ledger.get("a") == {**key("a"), "n": {"N": "4"}}


async def test_a_fault_passes_over_other_items(ledger: Ledger, moto: Moto) -> None:
    moto.dynamodb.faults.append(Fault("ThrottlingException", key=key("other")))
    await ledger.call("put_item", TableName="Ledger", Item=key("b"))
    batch = {"Ledger": [{"PutRequest": {"Item": key("other")}}]}
    with pytest.raises(ClientError, match="ThrottlingException"):
        await ledger.call("batch_write_item", RequestItems=batch)
