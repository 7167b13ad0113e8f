"""One DynamoDB table: its calls, each made once, and its errors as ours."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from autoops.adapters.aws import error_code, translated
from autoops.adapters.expressions import Item, get, put, update
from autoops.errors import DependencyUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FAILED: Final = "ConditionalCheckFailed"
BATCH_GET: Final = 100
BATCH_WRITE: Final = 25


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

    def __init__(self, dynamodb: "DynamoDBClient", name: str) -> None:
        self._dynamodb = dynamodb
        self._name = name

    def transact(self, *writes: Mapping[str, Any]) -> None:
        """All writes or none.

        Raises:
            CancelledError: a condition did not hold.
        """
        items = [
            {kind: {**write, "TableName": self._name} for kind, write in item.items()}
            for item in writes
        ]
        try:
            self._dynamodb.transact_write_items(TransactItems=items)  # type: ignore[arg-type]  # built by kind
        except (ClientError, BotoCoreError) as error:
            if error_code(error) == "TransactionCanceledException":
                reasons = error.response["CancellationReasons"]  # type: ignore[union-attr]  # it has a code
                if any(reason.get("Code") == FAILED for reason in reasons):
                    raise CancelledError(reasons) from None
                raise DependencyUnavailable("dynamodb: the transaction met another one") from error
            raise translated(error, "dynamodb") from error

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

    def partition(self, key: str) -> Iterator[Item]:
        """Every item of a partition, page by page, in the order of SK."""
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=self._name,
            KeyConditionExpression="PK = :partition",
            ExpressionAttributeValues={":partition": {"S": key}},
            ConsistentRead=True,
        )
        try:
            for page in pages:
                yield from page["Items"]
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "dynamodb") from error
