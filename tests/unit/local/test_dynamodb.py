import json
from collections.abc import Callable
from typing import Any

import pytest

from local.dynamodb import TOKEN_SECONDS, Answer, DynamoDbFront, Fault

OK: Answer = (200, {}, b"{}")


class Table:
    """Counts what is asked of it."""

    def __init__(self, answer: Answer = OK) -> None:
        self.asked = 0
        self.answer = answer

    def __call__(self) -> Answer:
        self.asked += 1
        return self.answer


def ask(
    front: DynamoDbFront, operation: str, body: dict[str, Any], run: Callable[[], Answer]
) -> Answer:
    headers = {"x-amz-target": f"DynamoDB_20120810.{operation}"}
    return front.answer(headers, json.dumps(body).encode(), run)


def put(name: str) -> dict[str, Any]:
    return {"Put": {"TableName": "Ledger", "Item": {"PK": {"S": name}}}}


def test_a_token_is_forgotten_after_ten_minutes() -> None:
    moments = [0.0]
    front, table = DynamoDbFront(now=lambda: moments[0]), Table()
    body = {"TransactItems": [put("a")], "ClientRequestToken": "t"}
    ask(front, "TransactWriteItems", body, table)
    moments[0] = TOKEN_SECONDS - 1
    ask(front, "TransactWriteItems", body, table)
    assert table.asked == 1
    moments[0] = TOKEN_SECONDS
    ask(front, "TransactWriteItems", body, table)
    assert table.asked == 2


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("PutItem", {"TableName": "Ledger", "Item": {"PK": {"S": "a"}, "n": {"N": "1"}}}),
        ("GetItem", {"TableName": "Ledger", "Key": {"PK": {"S": "a"}}}),
        ("TransactWriteItems", {"TransactItems": [put("b"), put("a")]}),
        ("BatchGetItem", {"RequestItems": {"Ledger": {"Keys": [{"PK": {"S": "a"}}]}}}),
        (
            "BatchWriteItem",
            {"RequestItems": {"Ledger": [{"DeleteRequest": {"Key": {"PK": {"S": "a"}}}}]}},
        ),
    ],
)
def test_a_fault_finds_its_item_in_every_kind_of_request(
    operation: str, body: dict[str, Any]
) -> None:
    front, table = DynamoDbFront(), Table()
    front.faults.append(Fault("ThrottlingException", table="Ledger", key={"PK": {"S": "a"}}))
    status, _, content = ask(front, operation, body, table)
    assert status == 400
    assert json.loads(content)["__type"].endswith("#ThrottlingException")
    assert (table.asked, front.faults) == (0, [])


def test_a_fault_for_several_requests_is_spent_one_by_one() -> None:
    front, table = DynamoDbFront(), Table()
    front.faults.append(Fault("InternalServerError", "GetItem", times=2))
    body = {"TableName": "Ledger", "Key": {"PK": {"S": "a"}}}
    statuses = [ask(front, "GetItem", body, table)[0] for _ in range(3)]
    assert statuses == [500, 500, 200]


def test_the_front_counts_requests_by_operation() -> None:
    front, table = DynamoDbFront(), Table()
    for operation in ("GetItem", "PutItem", "GetItem"):
        ask(front, operation, {}, table)
    assert front.requests == {"GetItem": 2, "PutItem": 1}
