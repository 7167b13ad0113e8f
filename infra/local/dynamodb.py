"""What stands in front of moto's DynamoDB: faults on demand and idempotent transactions."""

import hashlib
import json
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Literal

Answer = tuple[int, Mapping[str, Any], bytes]
FaultError = Literal[
    "TransactionConflict",
    "ThrottlingException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "InternalServerError",
]
# DynamoDB remembers a client request token for ten minutes.
TOKEN_SECONDS: Final = 600
PREFIX: Final = "com.amazonaws.dynamodb.v20120810#"
MESSAGES: Final[Mapping[str, str]] = {
    "TransactionConflictException": "Transaction is ongoing for the item",
    "ThrottlingException": "Rate exceeded",
    "ProvisionedThroughputExceededException": (
        "The level of configured provisioned throughput for the table was exceeded. "
        "Consider increasing your provisioning level with the UpdateTable API."
    ),
    "RequestLimitExceeded": "Throughput exceeds the current throughput limit for your account.",
    "InternalServerError": "Internal server error",
    "IdempotentParameterMismatchException": (
        "A previous request used the same client request token with other parameters."
    ),
}


@dataclass
class Fault:
    """What happens to the next requests that match.

    Attributes:
        error: what they are answered.
        operation: such as "PutItem"; None is any.
        table: name; None is any.
        key: attributes of the item's key in DynamoDB's JSON, such as {"PK": {"S": "RUN#1"}}; every
            item is matched that has them.
        times: how many requests.
        applied: the request takes effect and only its answer is lost.
    """

    error: FaultError
    operation: str | None = None
    table: str | None = None
    key: Mapping[str, Any] = field(default_factory=dict)
    times: int = 1
    applied: bool = False

    def hits(self, operation: str, body: Mapping[str, Any]) -> bool:
        """Whether it applies to the request."""
        if self.times <= 0 or self.operation not in {None, operation}:
            return False
        if self.table is None and not self.key:
            return True
        return any(self.hits_item(table, item) for table, item in touched(body))

    def hits_item(self, table: str, item: Mapping[str, Any]) -> bool:
        """Whether it applies to the item with these attributes."""
        if self.table is not None and self.table != table.rpartition("/")[2]:
            return False
        return all(item.get(name) == value for name, value in self.key.items())


def touched(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Table and key (or whole item) of everything a request touches."""
    for item in body.get("TransactItems", []):
        for action in item.values():
            yield from touched(action)
    for table, requests in body.get("RequestItems", {}).items():
        keys = requests.get("Keys", []) if isinstance(requests, dict) else _batch_writes(requests)
        for key in keys:
            yield table, key
    if "TableName" in body:
        yield body["TableName"], body.get("Key") or body.get("Item") or {}


def _batch_writes(requests: list[Any]) -> list[Mapping[str, Any]]:
    return [
        write.get("Item") or write.get("Key") or {}
        for request in requests
        for write in request.values()
    ]


@dataclass(frozen=True)
class _Remembered:
    fingerprint: str
    until: float
    answer: Answer


@dataclass
class DynamoDbFront:
    """Answers a request itself or lets moto answer it.

    Attributes:
        faults: what to inject, the first match wins; spent ones are dropped.
        now: seconds since the epoch, for the age of client request tokens.
        requests: how often each operation was asked for.
    """

    faults: list[Fault] = field(default_factory=list)
    now: Callable[[], float] = time.time
    requests: dict[str, int] = field(default_factory=dict)
    _tokens: dict[str, _Remembered] = field(default_factory=dict)

    def answer(self, headers: Mapping[str, str], body: bytes, run: Callable[[], Answer]) -> Answer:
        """The answer to one request.

        Args:
            headers: names in lower case.
            body: its JSON.
            run: has moto answer it.
        """
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        self.requests[operation] = self.requests.get(operation, 0) + 1
        if not self.faults and operation != "TransactWriteItems":
            return run()
        content = json.loads(body or b"{}")
        fault = self._fault(operation, content)
        if fault is not None and not fault.applied:
            return _injected(fault, operation, content)
        answer = self._once(content, run) if operation == "TransactWriteItems" else run()
        return answer if fault is None else _injected(fault, operation, content)

    def _fault(self, operation: str, content: Mapping[str, Any]) -> Fault | None:
        found = next((fault for fault in self.faults if fault.hits(operation, content)), None)
        if found is not None:
            found.times -= 1
            self.faults = [fault for fault in self.faults if fault.times > 0]
        return found

    def _once(self, content: dict[str, Any], run: Callable[[], Answer]) -> Answer:
        token = content.pop("ClientRequestToken", None)
        if token is None:
            return run()
        self._forget()
        fingerprint = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        known = self._tokens.get(token)
        if known is not None:
            if known.fingerprint == fingerprint:
                return known.answer
            return failure("IdempotentParameterMismatchException")
        answer = run()
        if answer[0] == HTTPStatus.OK:
            until = self.now() + TOKEN_SECONDS
            self._tokens[token] = _Remembered(fingerprint, until, answer)
        return answer

    def _forget(self) -> None:
        now = self.now()
        while self._tokens:
            token, oldest = next(iter(self._tokens.items()))
            if oldest.until > now:
                return
            del self._tokens[token]


def _injected(fault: Fault, operation: str, content: Mapping[str, Any]) -> Answer:
    if fault.error != "TransactionConflict":
        is_ours = fault.error == "InternalServerError"
        status = HTTPStatus.INTERNAL_SERVER_ERROR if is_ours else HTTPStatus.BAD_REQUEST
        return failure(fault.error, status)
    if operation not in {"TransactWriteItems", "TransactGetItems"}:
        return failure("TransactionConflictException")
    return _cancelled([_reason(fault, item) for item in content["TransactItems"]])


def _reason(fault: Fault, item: Mapping[str, Any]) -> dict[str, str]:
    (action,) = item.values()
    if not any(fault.hits_item(table, key) for table, key in touched(action)):
        return {"Code": "None"}
    return {"Code": "TransactionConflict", "Message": MESSAGES["TransactionConflictException"]}


def _cancelled(reasons: list[dict[str, str]]) -> Answer:
    codes = ", ".join(reason["Code"] for reason in reasons)
    message = (
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    )
    error = {
        "__type": f"{PREFIX}TransactionCanceledException",
        "Message": message,
        "CancellationReasons": reasons,
    }
    return _json(HTTPStatus.BAD_REQUEST, error)


def failure(name: str, status: int = HTTPStatus.BAD_REQUEST) -> Answer:
    """An error of DynamoDB by its name."""
    message = MESSAGES[name]
    return _json(status, {"__type": f"{PREFIX}{name}", "message": message})


def _json(status: int, content: object) -> Answer:
    body = json.dumps(content).encode()
    headers = {
        "content-type": "application/x-amz-json-1.0",
        "x-amzn-requestid": uuid.uuid4().hex,
        "x-amz-crc32": str(zlib.crc32(body)),
    }
    return status, headers, body
