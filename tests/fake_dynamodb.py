"""A DynamoDB client in memory: the few calls and the expressions that the ledger uses.

The ledger under test is the real one; only the service behind it is this. Each call is one atomic
step, and `before` is called ahead of it, so that a test can interleave workers or inject faults.
"""

import copy
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from botocore.exceptions import ClientError

Item = dict[str, Any]
Key = tuple[str, str]

_TOKEN = re.compile(
    r"\s*(?:(?P<word>[#:]?[A-Za-z_]\w*(?:\[\d+\])?)|(?P<sign><>|>=|<=|[=<>+\-(),]))"
)

_SIGNS = {
    "=": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class FakeDynamoDB:
    """One table, keyed by PK and SK.

    Attributes:
        items: what is stored, in DynamoDB's typed JSON.
        calls: names of the calls so far.
        before: called with each call's name before it acts; it may raise.
    """

    def __init__(self, before: Callable[[str], None] = lambda _call: None) -> None:
        self.items: dict[Key, Item] = {}
        self.calls: list[str] = []
        self.before = before

    def get_item(self, *, Key: Item, **_: Any) -> dict[str, Any]:  # noqa: N803
        self._enter("get_item")
        item = self.items.get(_key(Key))
        return {} if item is None else {"Item": copy.deepcopy(item)}

    def put_item(self, **write: Any) -> dict[str, Any]:
        self._enter("put_item")
        self._single({"Put": write})
        return {}

    def delete_item(self, **write: Any) -> dict[str, Any]:
        self._enter("delete_item")
        self._single({"Delete": write})
        return {}

    def update_item(self, **write: Any) -> dict[str, Any]:
        self._enter("update_item")
        self._single({"Update": write})
        return {"Attributes": copy.deepcopy(self.items[_key(write["Key"])])}

    def transact_write_items(
        self,
        *,
        TransactItems: Sequence[Mapping[str, Any]],  # noqa: N803
        **_: Any,
    ) -> dict[str, Any]:
        self._enter("transact_write_items")
        keys = [self._target(write) for write in TransactItems]
        assert len(set(keys)) == len(keys), "a transaction may touch an item once"
        reasons = [self._reason(write) for write in TransactItems]
        if any(reason["Code"] != "None" for reason in reasons):
            raise client_error(
                "TransactionCanceledException", "TransactWriteItems", CancellationReasons=reasons
            )
        for write in TransactItems:
            self._apply(write)
        return {}

    def batch_get_item(self, *, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803
        self._enter("batch_get_item")
        ((table, asked),) = RequestItems.items()
        found = [self.items.get(_key(key)) for key in asked["Keys"]]
        return {"Responses": {table: [copy.deepcopy(item) for item in found if item]}}

    def batch_write_item(self, *, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803
        self._enter("batch_write_item")
        ((_, asked),) = RequestItems.items()
        assert len(asked) <= 25
        for write in asked:
            self._apply({"Put": write["PutRequest"]})
        return {}

    def query(
        self,
        *,
        ExpressionAttributeValues: Item,  # noqa: N803
        KeyConditionExpression: str,  # noqa: N803
        Limit: int | None = None,  # noqa: N803
        IndexName: str | None = None,  # noqa: N803
        **_: Any,
    ) -> dict[str, Any]:
        self._enter("query")
        partition = ExpressionAttributeValues[":partition"]["S"]
        prefix = ExpressionAttributeValues.get(":prefix", {"S": ""})["S"]
        after = ExpressionAttributeValues.get(":after", {"S": ""})["S"]
        assert ("begins_with" in KeyConditionExpression) == bool(prefix)
        assert ("SK > :after" in KeyConditionExpression) == bool(after)
        if IndexName is not None:
            return self._indexed(KeyConditionExpression.split(" ", maxsplit=1)[0], partition)
        found = sorted(
            key
            for key in self.items
            if key[0] == partition and key[1].startswith(prefix) and key[1] > after
        )
        return {"Items": [copy.deepcopy(self.items[key]) for key in found[:Limit]]}

    def _indexed(self, attribute: str, value: str) -> dict[str, Any]:
        found = [item for item in self.items.values() if item.get(attribute) == {"S": value}]
        return {"Items": copy.deepcopy(sorted(found, key=lambda item: item["open_since"]["S"]))}

    def get_paginator(self, name: str) -> "FakeDynamoDB":
        assert name == "query"
        return self

    def paginate(self, **arguments: Any) -> Iterator[dict[str, Any]]:
        yield self.query(**arguments)

    def _enter(self, call: str) -> None:
        self.before(call)
        self.calls.append(call)

    def _single(self, write: Mapping[str, Any]) -> None:
        reason = self._reason(write)
        if reason["Code"] != "None":
            item = {"Item": reason["Item"]} if "Item" in reason else {}
            raise client_error("ConditionalCheckFailedException", "Write", **item)
        self._apply(write)

    def _target(self, write: Mapping[str, Any]) -> Key:
        ((_, body),) = write.items()
        return _key(body.get("Key") or body["Item"])

    def _reason(self, write: Mapping[str, Any]) -> dict[str, Any]:
        ((_, body),) = write.items()
        item = self.items.get(self._target(write))
        expression = body.get("ConditionExpression")
        if expression is None or _Expression(expression, body, item or {}).condition():
            return {"Code": "None"}
        found = {"Item": copy.deepcopy(item)} if item is not None else {}
        return {"Code": "ConditionalCheckFailed", **found}

    def _apply(self, write: Mapping[str, Any]) -> None:
        ((kind, body),) = write.items()
        key = self._target(write)
        if kind == "Put":
            self.items[key] = copy.deepcopy(body["Item"])
        elif kind == "Delete":
            self.items.pop(key, None)
        elif kind == "Update":
            old = copy.deepcopy(self.items.get(key, dict(body["Key"])))
            self.items[key] = _Expression(body["UpdateExpression"], body, old).update()


def client_error(code: str, operation: str, **more: Any) -> ClientError:
    return ClientError(cast("Any", {"Error": {"Code": code, "Message": code}, **more}), operation)


def _key(item: Mapping[str, Any]) -> Key:
    return item["PK"]["S"], item.get("SK", {"S": ""})["S"]


class _Expression:
    """Reads one expression, token by token, against one item."""

    def __init__(self, text: str, body: Mapping[str, Any], item: Item) -> None:
        self._tokens = _tokens(text)
        self._names = body.get("ExpressionAttributeNames", {})
        self._values = body.get("ExpressionAttributeValues", {})
        self._item = item

    def condition(self) -> bool:
        value = self._either()
        assert not self._tokens, self._tokens
        return value

    def update(self) -> Item:
        new = copy.deepcopy(self._item)
        while self._tokens:
            verb = self._take()
            assert verb in ("SET", "REMOVE"), verb
            while True:
                path = self._take()
                if verb == "SET":
                    self._expect("=")
                    _assign(new, *self._place(path), self._sum())
                else:
                    _remove(new, *self._place(path))
                if not self._tokens or self._tokens[0] != ",":
                    break
                self._take()
        return new

    def _either(self) -> bool:
        value = self._both()
        while self._next("OR"):
            other = self._both()
            value = value or other
        return value

    def _both(self) -> bool:
        value = self._single()
        while self._next("AND"):
            other = self._single()
            value = value and other
        return value

    def _single(self) -> bool:
        if self._next("NOT"):
            return not self._single()
        if self._next("("):
            value = self._either()
            self._expect(")")
            return value
        if self._tokens[0] in ("attribute_exists", "attribute_not_exists"):
            there = self._take() == "attribute_exists"
            self._expect("(")
            found = self._look(self._take())
            self._expect(")")
            return (found is not None) == there
        return self._comparison()

    def _comparison(self) -> bool:
        left = self._operand()
        sign = self._take()
        if sign == "IN":
            self._expect("(")
            members = [self._operand()]
            while self._next(","):
                members.append(self._operand())
            self._expect(")")
            return left is not None and bool(left in members)
        right = self._operand()
        if sign == "<>":
            return bool(left != right)
        if left is None or right is None:
            return False
        return _compare(_number(left), sign, _number(right))

    def _sum(self) -> Any:
        value = self._operand()
        while self._tokens and self._tokens[0] in "+-":
            sign = self._take()
            other = self._operand()
            total = _number(value) + (_number(other) if sign == "+" else -_number(other))
            value = {"N": str(total)}
        return value

    def _operand(self) -> Any:
        token = self._take()
        if token == "if_not_exists":
            self._expect("(")
            found = self._look(self._take())
            self._expect(",")
            default = self._operand()
            self._expect(")")
            return default if found is None else found
        if token == "list_append":
            self._expect("(")
            first = self._operand()
            self._expect(",")
            second = self._operand()
            self._expect(")")
            return {"L": first["L"] + second["L"]}
        return self._look(token)

    def _look(self, token: str) -> Any:
        if token.startswith(":"):
            return self._values[token]
        name, index = self._place(token)
        value = self._item.get(name)
        if index is None or value is None:
            return value
        return value["L"][index] if index < len(value["L"]) else None

    def _place(self, token: str) -> tuple[str, int | None]:
        name, _, rest = token.partition("[")
        return self._names[name] if name.startswith("#") else name, int(rest[:-1]) if rest else None

    def _take(self) -> str:
        return self._tokens.pop(0)

    def _next(self, token: str) -> bool:
        if self._tokens and self._tokens[0] == token:
            self._tokens.pop(0)
            return True
        return False

    def _expect(self, token: str) -> None:
        found = self._take()
        assert found == token, f"{found} where {token} belongs"


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        assert found, f"cannot read {text[position:]!r}"
        tokens.append(found["word"] or found["sign"])
        position = found.end()
    return tokens


def _number(value: Mapping[str, Any]) -> Any:
    return Decimal(value["N"]) if "N" in value else next(iter(value.values()))


def _compare(left: Any, sign: str, right: Any) -> bool:
    return bool(_SIGNS[sign](left, right))


def _assign(item: Item, name: str, index: int | None, value: Any) -> None:
    assert value is not None, f"{name}: no value"
    assert index is None, "lists are only appended to"
    item[name] = value


def _remove(item: Item, name: str, index: int | None) -> None:
    if index is None:
        item.pop(name, None)
    else:
        del item[name]["L"][index]
