"""Transactions that meet on an item: tried again after a moment, and not for ever."""

from typing import Any

import pytest

from autoops.adapters.dynamodb import DynamoLedger
from autoops.adapters.table import CONFLICT_SECONDS, CONFLICTS, Table
from autoops.errors import DependencyUnavailable
from fake_dynamodb import FakeDynamoDB, client_error
from samples import RUN, opened

MET = {"Code": "TransactionConflict"}
NONE = {"Code": "None"}


def meeting(*errors: Exception) -> tuple[FakeDynamoDB, DynamoLedger, list[float]]:
    """A ledger whose first transactions fail so, and how long it waited after each."""
    left, waited = list(errors), list[float]()

    def before(call: str) -> None:
        if call == "transact_write_items" and left:
            raise left.pop(0)

    table: Any = FakeDynamoDB(before)
    return table, DynamoLedger(Table(table, "Ledger", waited.append)), waited


def cancelled(*reasons: object) -> Exception:
    return client_error(
        "TransactionCanceledException", "TransactWriteItems", CancellationReasons=list(reasons)
    )


@pytest.mark.parametrize(
    "error",
    [
        cancelled(NONE, MET),
        client_error("TransactionConflictException", "TransactWriteItems"),
        client_error("TransactionInProgressException", "TransactWriteItems"),
    ],
)
def test_two_transactions_that_meet_are_tried_again(error: Exception) -> None:
    _, ledger, waited = meeting(error, error)
    assert ledger.open_run(opened()) == opened()
    assert ledger.view(RUN.root) is not None
    assert len(waited) == 2
    assert all(0 <= wait <= CONFLICT_SECONDS * tries for tries, wait in enumerate(waited, 1))


def test_transactions_that_meet_again_and_again_are_left_to_the_retry() -> None:
    table, ledger, waited = meeting(*[cancelled(MET)] * CONFLICTS)
    with pytest.raises(DependencyUnavailable, match="met others again and again"):
        ledger.open_run(opened())
    assert (len(waited), table.items) == (CONFLICTS - 1, {})


def test_a_condition_that_does_not_hold_counts_before_a_conflict() -> None:
    _, ledger, waited = meeting(cancelled({"Code": "ConditionalCheckFailed"}, MET))
    with pytest.raises(Exception, match="opened by another execution"):
        ledger.open_run(opened())
    assert waited == []


def test_a_transaction_refused_for_another_reason_is_left_to_the_retry() -> None:
    _, ledger, waited = meeting(cancelled({"Code": "ThrottlingError"}, NONE))
    with pytest.raises(DependencyUnavailable, match="was refused"):
        ledger.open_run(opened())
    assert waited == []
