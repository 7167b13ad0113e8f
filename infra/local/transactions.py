"""DynamoDB's transactions over moto's tables, by the keys they touch.

moto's own copies whole tables; here a transaction costs what its items cost. Conditions and updates
are still moto's.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from moto.core.responses import ActionResult
from moto.dynamodb.exceptions import (
    AttributeDoesNotExist,
    ConditionalCheckFailed,
    IncorrectDataType,
    IncorrectOperandType,
    InvalidUpdateExpressionInvalidDocumentPath,
    ItemSizeTooLarge,
    ItemSizeToUpdateTooLarge,
    MockValidationException,
    MultipleTransactionsException,
    TooManyTransactionsException,
    TransactionCanceledException,
    TransactWriteSingleOpException,
)
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler, ProjectionExpressionParser

from local.constants import TRANSACTION_ITEMS

ACTIONS: Final = frozenset({"ConditionCheck", "Put", "Delete", "Update"})
# What only the item shows to be wrong cancels the transaction; anything else refuses the request.
DEPENDS_ON_ITEM: Final = (
    AttributeDoesNotExist,
    IncorrectDataType,
    IncorrectOperandType,
    InvalidUpdateExpressionInvalidDocumentPath,
    ItemSizeTooLarge,
    ItemSizeToUpdateTooLarge,
)
Reason = tuple[str | None, str | None, dict[str, Any] | None]
NO_REASON: Final[Reason] = (None, None, None)
Keys = tuple[DynamoType, DynamoType | None]


@dataclass(frozen=True)
class Write:
    """One action of a transaction, its table and key found."""

    action: str
    body: dict[str, Any]
    table: Table
    keys: Keys

    @property
    def identity(self) -> tuple[str, str]:
        """Table and key, for telling actions on one item."""
        return self.table.name, f"{self.keys[0].to_json()} {_json_of(self.keys[1])}"


def _json_of(key: DynamoType | None) -> object:
    return key.to_json() if key else None


class FrontHandler(DynamoHandler):
    """moto's handler with transactions that copy only what they touch."""

    # The parameters come from the JSON; moto would also try to read it as a query string.
    use_raw_body = True

    @property
    def dynamodb_backend(self) -> DynamoDBBackend:
        """Moto's backend, its transact_write_items replaced."""
        return _Transactional(super().dynamodb_backend)  # type: ignore[return-value]  # it stands in

    def transact_get_items(self) -> ActionResult:
        """Read up to 100 items as they are at one moment, projected."""
        if len(self.body["TransactItems"]) > TRANSACTION_ITEMS:
            return super().transact_get_items()
        backend = super().dynamodb_backend
        responses = [_projected(backend, item["Get"]) for item in self.body["TransactItems"]]
        return ActionResult({"Responses": responses})


def _projected(backend: DynamoDBBackend, get: dict[str, Any]) -> dict[str, Any]:
    paths = ProjectionExpressionParser(
        get.get("ProjectionExpression"), get.get("ExpressionAttributeNames")
    ).parse()
    item = backend.get_item(get["TableName"], get["Key"], paths or None)
    return {"Item": item.to_json()["Attributes"]} if item else {}


class _Transactional:
    """A backend whose transactions are ours and everything else moto's."""

    def __init__(self, backend: DynamoDBBackend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def transact_write_items(self, items: list[dict[str, Any]]) -> None:
        """Apply all of the actions or none.

        Raises:
            TransactionCanceledException: a condition failed or an action cannot be applied.
            MockValidationException: the request is wrong.
        """
        writes = _writes(self._backend, items)
        undo = [_undo_of(write) for write in writes]
        tables = {write.table.name: write.table for write in writes}
        undo += [_undo_of_stream(table) for table in tables.values()]
        reasons: list[Reason] = []
        try:
            for write in writes:
                reasons.append(_apply(self._backend, write))
        except BaseException:
            _run_all(undo)
            raise
        if any(code is not None for code, _, _ in reasons):
            _run_all(undo)
            raise TransactionCanceledException(reasons)


def _run_all(undo: list[Callable[[], None]]) -> None:
    for step in undo:
        step()


def _writes(backend: DynamoDBBackend, items: list[dict[str, Any]]) -> list[Write]:
    if not items:
        raise MockValidationException(
            "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy "
            "constraint: Member must have length greater than or equal to 1"
        )
    if len(items) > TRANSACTION_ITEMS:
        raise TooManyTransactionsException
    writes = [_write(backend, item) for item in items]
    if len({write.identity for write in writes}) < len(writes):
        raise MultipleTransactionsException
    return writes


def _write(backend: DynamoDBBackend, item: dict[str, Any]) -> Write:
    if len(item) != 1 or not item.keys() <= ACTIONS:
        raise TransactWriteSingleOpException
    action, body = next(iter(item.items()))
    table = backend.get_table(body["TableName"])
    named = body["Item"] if action == "Put" else body["Key"]
    wanted = {table.hash_key_attr, table.range_key_attr} - {None}
    if not wanted <= named.keys() or (action != "Put" and len(named) != len(wanted)):
        raise MockValidationException("The provided key element does not match the schema")
    return Write(action, body, table, backend.get_keys_value(table, named))


def _apply(backend: DynamoDBBackend, write: Write) -> Reason:
    body = write.body
    condition = {
        "condition_expression": body.get("ConditionExpression"),
        "expression_attribute_names": body.get("ExpressionAttributeNames"),
        "expression_attribute_values": body.get("ExpressionAttributeValues"),
    }
    try:
        match write.action:
            case "Put":
                overwrite = body.get("ConditionExpression") is None
                backend.put_item(write.table.name, body["Item"], overwrite=overwrite, **condition)
            case "Update":
                backend.update_item(
                    write.table.name,
                    body["Key"],
                    body["UpdateExpression"],
                    body.get("ExpressionAttributeNames") or {},
                    body.get("ExpressionAttributeValues") or {},
                    condition_expression=body.get("ConditionExpression"),
                )
            case "Delete":
                backend.delete_item(write.table.name, body["Key"], **condition)
            case _:
                _check(write, condition)
    except ConditionalCheckFailed as failed:
        return "ConditionalCheckFailed", failed.message, _old_item(write)
    except DEPENDS_ON_ITEM as refused:
        return "ValidationError", refused.message, None
    return NO_REASON


def _check(write: Write, condition: dict[str, Any]) -> None:
    from moto.dynamodb.comparisons import get_filter_expression

    expression = get_filter_expression(
        condition["condition_expression"],
        condition["expression_attribute_names"],
        condition["expression_attribute_values"],
    )
    if not expression.expr(_current(write)):
        raise ConditionalCheckFailed


def _current(write: Write) -> Item | None:
    return write.table.get_item(*write.keys)


def _old_item(write: Write) -> dict[str, Any] | None:
    if write.body.get("ReturnValuesOnConditionCheckFailure") != "ALL_OLD":
        return None
    item = _current(write)
    return item.to_json()["Attributes"] if item else None


def _undo_of(write: Write) -> Callable[[], None]:
    before = copy.deepcopy(_current(write))
    items: dict[Any, Any] = write.table.items
    hash_key, range_key = write.keys

    def undo() -> None:
        holder, key = (items[hash_key], range_key) if range_key else (items, hash_key)
        if before is not None:
            holder[key] = before
            return
        holder.pop(key, None)
        if range_key and not holder:
            items.pop(hash_key, None)

    return undo


def _undo_of_stream(table: Table) -> Callable[[], None]:
    shard = table.stream_shard
    length = len(shard.items) if shard else 0

    def undo() -> None:
        if shard:
            del shard.items[length:]

    return undo
