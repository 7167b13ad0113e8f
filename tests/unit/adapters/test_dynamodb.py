"""The real ledger on DynamoDB in memory: the contract, and what it does that the contract hides."""

from typing import TYPE_CHECKING, Any, cast

import pytest

from autoops.adapters.dynamodb import DynamoLedger
from autoops.adapters.table import Table
from autoops.errors import DependencyUnavailable, InvalidInput
from fake_dynamodb import FakeDynamoDB, client_error
from ledger_contract import LedgerContract
from samples import RUN, claim, opened, record, step

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def on(table: FakeDynamoDB) -> DynamoLedger:
    return DynamoLedger(Table(cast("DynamoDBClient", table), "Ledger"))


@pytest.fixture
def ledger() -> DynamoLedger:
    return on(FakeDynamoDB())


class TestDynamoLedger(LedgerContract):
    """The whole contract."""


def test_one_model_call_costs_three_calls_of_dynamodb_and_its_two_step_records_two() -> None:
    table = FakeDynamoDB()
    ledger = on(table)
    ledger.open_run(opened())
    table.calls.clear()
    ledger.admit(RUN, claim())
    begun = ledger.begin(RUN, claim()).admission
    ledger.settle(RUN, begun, record(begun))
    ledger.record_step(RUN, step(0))
    ledger.record_step(RUN, step(1))
    assert len(table.calls) <= 5


@pytest.mark.parametrize(
    "code",
    ["ThrottlingException", "ProvisionedThroughputExceededException", "InternalServerError"],
)
def test_when_the_ledger_does_not_answer_no_call_is_admitted(code: str) -> None:
    table = FakeDynamoDB()
    ledger = on(table)
    ledger.open_run(opened())

    def down(call: str) -> None:
        raise client_error(code, call)

    table.before = down
    with pytest.raises(DependencyUnavailable):
        ledger.admit(RUN, claim())


def test_two_transactions_that_meet_are_tried_again_and_never_given_up() -> None:
    table = FakeDynamoDB()
    ledger = on(table)
    ledger.open_run(opened())
    reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}, {"Code": "None"}]

    def meet(call: str) -> None:
        raise client_error("TransactionCanceledException", call, CancellationReasons=reasons)

    table.before = meet
    with pytest.raises(DependencyUnavailable):
        ledger.admit(RUN, claim())


def test_what_dynamodb_refuses_for_good_is_given_up() -> None:
    def refuse(call: str) -> None:
        raise client_error("ResourceNotFoundException", call)

    with pytest.raises(InvalidInput, match="ResourceNotFoundException"):
        on(FakeDynamoDB(refuse)).open_run(opened())


def test_no_item_holds_a_set_or_a_binary() -> None:
    table = FakeDynamoDB()
    ledger = on(table)
    ledger.open_run(opened())
    begun = ledger.admit(RUN, claim())
    begun = ledger.begin(RUN, claim()).admission
    ledger.settle(RUN, begun, record(begun))
    ledger.record_step(RUN, step(0, output={"tags": [], "models": set()}))
    kinds: set[str] = set()

    def collect(value: dict[str, Any]) -> None:
        ((kind, inner),) = value.items()
        kinds.add(kind)
        for item in inner if kind == "L" else ():
            collect(item)

    for item in table.items.values():
        for value in item.values():
            collect(value)
    assert kinds <= {"S", "N", "BOOL", "L", "NULL"}


NUMBERS = {"meta": {"scores": [0.1, {"d": 1e-7}], "n": 3, "flag": True, "none": None, "tags": []}}


def test_floats_in_a_steps_output_come_back_as_the_numbers_they_were() -> None:
    ledger = on(FakeDynamoDB())
    ledger.open_run(opened())
    ledger.record_step(RUN, step(0, output=NUMBERS))
    ledger.record_step(RUN, step(0, output=NUMBERS))
    view = ledger.view(RUN.root)
    assert view is not None
    found = view.steps[0].output
    assert found == NUMBERS
    assert type(found["meta"]["n"]) is int
    assert found["meta"]["flag"] is True
    with pytest.raises(InvalidInput, match="NaN"):
        ledger.record_step(RUN, step(1, output={"score": float("nan")}))
