"""The real ledger on moto's DynamoDB: the contracts, many pages, many calls, the chunks kept."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

from admissions_contract import AdmissionsContract
from autoops.adapters.catalogue import DynamoCatalogue
from autoops.adapters.table import Table
from autoops.domain.admissions import Settled
from calls_contract import calling, repeated, settled_late
from gate_bench import GateBench
from integration.aws import aws, emptied, table
from ledger_contract import RunsContract
from samples import CALL, RUN, claim, record, step

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from fake_dynamodb import FakeDynamoDB

PAGE_BYTES = 1024 * 1024
CALLS = 50


@pytest.fixture(scope="module")
def shared() -> "Iterator[DynamoDBClient]":
    with aws():
        yield table("Ledger")


@pytest.fixture
def bench(shared: "DynamoDBClient") -> Iterator[GateBench]:
    yield GateBench(dynamodb=cast("FakeDynamoDB", shared))
    emptied(shared, "Ledger")


@pytest.fixture
def catalogue(shared: "DynamoDBClient") -> Iterator[DynamoCatalogue]:
    yield DynamoCatalogue(Table(shared, "Ledger"))
    emptied(shared, "Ledger")


class TestDynamoLedger(RunsContract):
    """The whole contract of runs."""


class TestDynamoAdmissions(AdmissionsContract):
    """The whole contract of admissions."""


def test_a_run_of_many_pages_is_read_whole(bench: GateBench) -> None:
    bench.open(RUN)
    wide = "x" * 60_000
    steps = 3 * PAGE_BYTES // len(wide)
    for number in range(steps):
        bench.ledger.record_step(RUN, step(number, output={"text": wide}))
    found = bench.view(RUN).steps
    assert [each.request for each in found] == [step(number).request for number in range(steps)]


def test_the_cost_of_parallel_calls_adds_up_to_the_cent(bench: GateBench) -> None:
    bench.open(RUN, 1_000_000_000)
    for branch in range(CALLS):
        asked = claim(call=f"{CALL}/{branch}", worst=20_000_000)
        bench.ask(RUN, asked, token=None)
        begun = bench.admissions.begin(RUN, asked, bench.gate.lease_end())
        assert begun is not None
        bench.gate.settle(begun.admission, record(begun.admission, cost=10_000_000))
    assert bench.money(RUN) == (500_000_000, 0, 500_000_000)
    assert sum(each.cost for each in bench.view(RUN).calls) == 500_000_000


def test_a_late_worker_is_fenced_off_and_both_attempts_are_paid(bench: GateBench) -> None:
    bench.open(RUN, 1_000)
    slow = calling(bench)
    fast = repeated(bench, slow)
    bench.admissions.settle(fast, record(fast, cost=60))
    assert bench.admissions.settle(slow, record(slow, cost=70)) is Settled.TAKEN_OVER
    assert settled_late(bench, slow, cost=70)
    assert bench.ledger.call_record(RUN, CALL) == record(fast, cost=60)
    assert bench.money(RUN) == (870, 0, 130)


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
