"""The ledger's table in memory, call by call: each call hands over first and is looked at after."""

from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ReadTimeoutError

from fake_dynamodb import FakeDynamoDB, client_error
from gate_proof.scheduler import Fault

Alter = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Changes a write on its way to the table: a mutant has one."""


class WatchedTable(FakeDynamoDB):
    """A DynamoDB of which each call may fail, or act and lose its answer.

    Args:
        point: hands over ahead of each call; says what shall go wrong with it.
        written: called after each call that wrote.
        alter: changes each write.
    """

    def __init__(
        self, point: Callable[[str], Fault], written: Callable[[], None], alter: Alter
    ) -> None:
        super().__init__(before=self._disturbed)
        self._point = point
        self._written = written
        self._alter = alter
        self._lost = False
        self.transactions = 0

    def transact_write_items(self, **asked: Any) -> dict[str, Any]:
        altered = [self._alter(write) for write in asked["TransactItems"]]
        return self._looked_at(super().transact_write_items, TransactItems=altered)

    def update_item(self, **write: Any) -> dict[str, Any]:
        altered = self._alter({"Update": write})["Update"]
        return self._looked_at(super().update_item, **altered)

    def put_item(self, **write: Any) -> dict[str, Any]:
        return self._looked_at(super().put_item, **write)

    def _looked_at(self, call: Callable[..., dict[str, Any]], **asked: Any) -> dict[str, Any]:
        answer = call(**asked)
        self.transactions += 1
        self._written()
        if self._lost:
            raise ReadTimeoutError(endpoint_url="dynamodb")
        return answer

    def _disturbed(self, call: str) -> None:
        fault = self._point(call)
        self._lost = fault == "lost"
        if fault == "unavailable" or (fault == "lost" and call in ("get_item", "query")):
            raise client_error("InternalServerError", call)
        if fault == "conflict":
            self._conflict(call)

    def _conflict(self, call: str) -> None:
        if call == "transact_write_items":
            reasons = [{"Code": "TransactionConflict"}]
            raise client_error("TransactionCanceledException", call, CancellationReasons=reasons)
        if call == "update_item":
            raise client_error("TransactionConflictException", call)
