"""The real ledger on moto's DynamoDB: the contract, many pages, many calls, the chunks kept."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from autoops.adapters.catalogue import DynamoCatalogue
from autoops.adapters.dynamodb import DynamoLedger
from autoops.adapters.table import Table
from integration.aws import aws, emptied, table
from ledger_contract import LedgerContract, calling, money, seen
from samples import CALL, RUN, claim, opened, record, step

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from autoops.domain.ledger import CallRecord

PAGE_BYTES = 1024 * 1024
CALLS = 50


@pytest.fixture(scope="module")
def shared() -> "Iterator[DynamoDBClient]":
    with aws():
        yield table("Ledger")


@pytest.fixture
def ledger(shared: "DynamoDBClient") -> Iterator[DynamoLedger]:
    yield DynamoLedger(Table(shared, "Ledger"))
    emptied(shared, "Ledger")


@pytest.fixture
def catalogue(shared: "DynamoDBClient") -> Iterator[DynamoCatalogue]:
    yield DynamoCatalogue(Table(shared, "Ledger"))
    emptied(shared, "Ledger")


class TestDynamoLedger(LedgerContract):
    """The whole contract."""


def test_a_run_of_many_pages_is_read_whole(ledger: DynamoLedger) -> None:
    ledger.open_run(opened())
    wide = "x" * 60_000
    steps = 3 * PAGE_BYTES // len(wide)
    for number in range(steps):
        ledger.record_step(RUN, step(number, output={"text": wide}))
    found = seen(ledger).steps
    assert [each.request for each in found] == [step(number).request for number in range(steps)]


def test_the_cost_of_parallel_calls_adds_up_to_the_cent(ledger: DynamoLedger) -> None:
    ledger.open_run(opened(1_000_000_000))
    paid: list[CallRecord] = []
    for branch in range(CALLS):
        asked = claim(call=f"{CALL}/{branch}", worst=20_000_000)
        ledger.admit(RUN, asked)
        begun = ledger.begin(RUN, asked).admission
        paid.append(record(begun, cost=10_000_000))
        ledger.settle(RUN, begun, paid[-1])
    assert money(ledger) == (500_000_000, 0, 500_000_000)
    assert sum(each.cost for each in seen(ledger).calls) == 500_000_000


def test_a_late_worker_is_fenced_off_and_both_attempts_are_paid(ledger: DynamoLedger) -> None:
    ledger.open_run(opened(1_000))
    slow = calling(ledger)
    fast = ledger.repeat(RUN, slow)
    ledger.settle(RUN, fast, record(fast, cost=60))
    with pytest.raises(Exception, match="taken over"):
        ledger.settle(RUN, slow, record(slow, cost=70))
    assert ledger.call_record(RUN, CALL) == record(fast, cost=60)
    assert money(ledger) == (870, 0, 130)


def test_chunks_of_documents_are_remembered_until_replaced(catalogue: DynamoCatalogue) -> None:
    documents = [f"{number}.md" for number in range(130)]
    catalogue.keep_chunks("default", {name: [f"default/{name}/0"] for name in documents})
    catalogue.keep_chunks("default", {"0.md": []})
    kept = catalogue.chunk_keys("default", [*documents, "never.md"])
    assert kept["0.md"] == kept["never.md"] == frozenset()
    assert all(kept[name] == {f"default/{name}/0"} for name in documents[1:])


def test_one_tenants_documents_are_not_anothers(catalogue: DynamoCatalogue) -> None:
    catalogue.keep_chunks("default", {"a.md": ["default/a/0"]})
    assert catalogue.chunk_keys("other", ["a.md"]) == {"a.md": frozenset()}
