"""One DynamoDB table: its calls, each made once, and its errors as ours."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from autoops.adapters.aws import error_code, translated
from autoops.adapters.expressions import Item, get, put, update
from autoops.errors import DependencyUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FAILED: Final = "ConditionalCheckFailed"
CONFLICTING: Final = frozenset({"TransactionConflictException", "TransactionInProgressException"})
BATCH_GET: Final = 100
BATCH_WRITE: Final = 25
CONFLICTS: Final = 4
"""How often a transaction is tried that met another one on the same items."""
CONFLICT_SECONDS: Final = 0.05
_BEGINS: Final = " AND begins_with(SK, :prefix)"
_PAST: Final = " AND SK > :after"


class CancelledError(Exception):
    """Writes whose conditions did not hold.

    Attributes:
        failed: for each write, whether its condition failed.
        items: for each write whose condition failed, the item as it stands, if there is one.
    """

    def __init__(self, reasons: Sequence[Mapping[str, Any]]) -> None:
        super().__init__("a condition did not hold")
        self.failed = [reason.get("Code") == FAILED for reason in reasons]
        self.items = [reason.get("Item") for reason in reasons]


class Table:
    """The calls that the adapters make on a table with the keys PK and SK.

    Each raises `DependencyUnavailable` when DynamoDB does not answer or refuses for rate.
    """

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        name: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._dynamodb = dynamodb
        self._name = name
        self._sleep = sleep

    def transact(self, *writes: Mapping[str, Any]) -> None:
        """All writes or none; one that met another transaction is tried again after a moment.

        Raises:
            CancelledError: a condition did not hold.
        """
        items = [
            {kind: {**write, "TableName": self._name} for kind, write in item.items()}
            for item in writes
        ]
        for tries in range(1, CONFLICTS + 1):
            if self._transacted(items):
                return
            if tries < CONFLICTS:
                self._sleep(random.uniform(0, CONFLICT_SECONDS * tries))  # noqa: S311  # no secret
        raise DependencyUnavailable("dynamodb: the transaction met others again and again")

    def _transacted(self, items: list[Any]) -> bool:
        """Whether the writes were made; not where another transaction was at work on an item."""
        try:
            self._dynamodb.transact_write_items(TransactItems=items)
        except (ClientError, BotoCoreError) as error:
            if error_code(error) in CONFLICTING:
                return False
            if error_code(error) != "TransactionCanceledException":
                raise translated(error, "dynamodb") from error
            reasons = error.response["CancellationReasons"]  # type: ignore[union-attr]  # it has a code
            codes = {reason.get("Code") for reason in reasons}
            if FAILED in codes:
                raise CancelledError(reasons) from None
            if "TransactionConflict" in codes:
                return False
            raise DependencyUnavailable("dynamodb: the transaction was refused") from error
        return True

    def update(self, write: Mapping[str, Any]) -> Item:
        """One update; the item after it.

        Raises:
            CancelledError: its condition did not hold.
        """
        try:
            answer = self._dynamodb.update_item(
                **write["Update"], TableName=self._name, ReturnValues="ALL_NEW"
            )
        except (ClientError, BotoCoreError) as error:
            if error_code(error) == "ConditionalCheckFailedException":
                reason = {"Code": FAILED, "Item": error.response.get("Item")}  # type: ignore[union-attr]  # as above
                raise CancelledError([reason]) from None
            raise translated(error, "dynamodb") from error
        return answer["Attributes"]

    def update_if_there(self, key: Item, change: str, **values: object) -> None:
        """Update an item, or do nothing where there is none."""
        try:
            self.update(update(key, change, "attribute_exists(PK)", **values))
        except CancelledError:
            return

    def put(self, key: Item, attributes: Mapping[str, Any]) -> None:
        """Put an item, whatever stood there."""
        try:
            self._dynamodb.put_item(**put(key, attributes)["Put"], TableName=self._name)
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "dynamodb") from error

    def get(self, key: Item) -> Item | None:
        """The item, read consistently."""
        try:
            return self._dynamodb.get_item(**get(key), TableName=self._name).get("Item")
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "dynamodb") from error

    def get_all(self, keys: Sequence[Item]) -> Iterator[Item]:
        """The items there are, in no order."""
        for start in range(0, len(keys), BATCH_GET):
            asked: Any = {"Keys": keys[start : start + BATCH_GET], "ConsistentRead": True}
            try:
                answer = self._dynamodb.batch_get_item(RequestItems={self._name: asked})
            except (ClientError, BotoCoreError) as error:
                raise translated(error, "dynamodb") from error
            if answer.get("UnprocessedKeys"):
                raise DependencyUnavailable("dynamodb: keys left unread for rate")
            yield from answer["Responses"].get(self._name, [])

    def put_all(self, writes: Sequence[Mapping[str, Any]]) -> None:
        """Put items; the same again does no harm, so a failure may be retried whole."""
        requests: list[Any] = [{"PutRequest": {"Item": write["Put"]["Item"]}} for write in writes]
        for start in range(0, len(requests), BATCH_WRITE):
            asked = requests[start : start + BATCH_WRITE]
            try:
                answer = self._dynamodb.batch_write_item(RequestItems={self._name: asked})
            except (ClientError, BotoCoreError) as error:
                raise translated(error, "dynamodb") from error
            if answer.get("UnprocessedItems"):
                raise DependencyUnavailable("dynamodb: items left unwritten for rate")

    def partition(self, key: str, prefix: str = "") -> Iterator[Item]:
        """The items of a partition whose SK begins with the prefix, page by page, in SK's order."""
        values = {":partition": {"S": key}}
        if prefix:
            values[":prefix"] = {"S": prefix}
        return self._query(
            KeyConditionExpression=f"PK = :partition{_BEGINS if prefix else ''}",
            ExpressionAttributeValues=values,
            ConsistentRead=True,
        )

    def first(self, key: str, after: str = "") -> Item | None:
        """The partition's item with the least SK past `after`, read consistently."""
        values = {":partition": {"S": key}}
        if after:
            values[":after"] = {"S": after}
        try:
            found = self._dynamodb.query(
                TableName=self._name,
                KeyConditionExpression=f"PK = :partition{_PAST if after else ''}",
                ExpressionAttributeValues=values,
                ConsistentRead=True,
                Limit=1,
            )
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "dynamodb") from error
        return next(iter(found["Items"]), None)

    def indexed(self, index: str, attribute: str, value: str) -> Iterator[Item]:
        """The items of an index's partition, page by page; they may be a moment old."""
        return self._query(
            IndexName=index,
            KeyConditionExpression=f"{attribute} = :partition",
            ExpressionAttributeValues={":partition": {"S": value}},
        )

    def _query(self, **arguments: Any) -> Iterator[Item]:
        pages = self._dynamodb.get_paginator("query").paginate(TableName=self._name, **arguments)
        try:
            for page in pages:
                yield from page["Items"]
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "dynamodb") from error
