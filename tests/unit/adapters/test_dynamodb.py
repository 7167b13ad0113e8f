"""The real ledger on DynamoDB in memory: both contracts, and what they hide."""

from typing import Any

import pytest

from admissions_contract import AdmissionsContract
from autoops.domain.admissions import Limit
from autoops.errors import DependencyUnavailable, InvalidInput
from fake_dynamodb import client_error
from gate_bench import GateBench
from ledger_contract import RunsContract
from samples import MODEL, RUN, claim, opened, record, step


@pytest.fixture
def bench() -> GateBench:
    return GateBench()


class TestDynamoLedger(RunsContract):
    """The whole contract of runs."""


class TestDynamoAdmissions(AdmissionsContract):
    """The whole contract of admissions."""


def settled(bench: GateBench) -> None:
    """One call, from asking to the record."""
    bench.ask(RUN, claim(), token=None)
    begun = bench.admissions.begin(RUN, claim(), bench.gate.lease_end())
    assert begun is not None
    bench.gate.settle(begun.admission, record(begun.admission))


def test_one_model_call_costs_three_writes_of_dynamodb_and_its_two_step_records_two(
    bench: GateBench,
) -> None:
    bench.open(RUN)
    bench.dynamodb.calls.clear()
    settled(bench)
    bench.ledger.record_step(RUN, step(0))
    bench.ledger.record_step(RUN, step(1))
    assert bench.dynamodb.calls == [
        "transact_write_items",
        "update_item",
        "transact_write_items",
        "put_item",
        "put_item",
    ]


def test_under_a_limit_a_settle_looks_once_for_who_waits(bench: GateBench) -> None:
    bench.limits[MODEL] = Limit(concurrency=5)
    bench.open(RUN)
    bench.dynamodb.calls.clear()
    settled(bench)
    assert bench.dynamodb.calls == [
        "transact_write_items",
        "update_item",
        "transact_write_items",
        "query",
    ]


@pytest.mark.parametrize(
    "code",
    ["ThrottlingException", "ProvisionedThroughputExceededException", "InternalServerError"],
)
def test_when_the_ledger_does_not_answer_no_call_is_admitted(bench: GateBench, code: str) -> None:
    bench.open(RUN)

    def down(call: str) -> None:
        raise client_error(code, call)

    bench.dynamodb.before = down
    with pytest.raises(DependencyUnavailable):
        bench.ask(RUN, claim())


def test_what_dynamodb_refuses_for_good_is_given_up(bench: GateBench) -> None:
    def refuse(call: str) -> None:
        raise client_error("ResourceNotFoundException", call)

    bench.dynamodb.before = refuse
    with pytest.raises(InvalidInput, match="ResourceNotFoundException"):
        bench.ledger.open_run(opened())


def test_no_item_holds_a_set_or_a_binary(bench: GateBench) -> None:
    bench.limits[MODEL] = Limit(concurrency=1, requests=9)
    bench.open(RUN)
    settled(bench)
    for number in range(2):
        bench.ask(RUN, claim(call=f"{RUN.root}/AskModel/{number}/9"))
    bench.ledger.record_step(RUN, step(0, output={"tags": [], "models": set()}))
    kinds: set[str] = set()

    def collect(value: dict[str, Any]) -> None:
        ((kind, inner),) = value.items()
        kinds.add(kind)
        for item in inner if kind == "L" else ():
            collect(item)

    for item in bench.dynamodb.items.values():
        for value in item.values():
            collect(value)
    assert kinds <= {"S", "N", "BOOL", "L", "NULL"}


NUMBERS = {"meta": {"scores": [0.1, {"d": 1e-7}], "n": 3, "flag": True, "none": None, "tags": []}}


def test_floats_in_a_steps_output_come_back_as_the_numbers_they_were(bench: GateBench) -> None:
    bench.open(RUN)
    bench.ledger.record_step(RUN, step(0, output=NUMBERS))
    bench.ledger.record_step(RUN, step(0, output=NUMBERS))
    found = bench.view(RUN).steps[0].output
    assert found == NUMBERS
    assert type(found["meta"]["n"]) is int
    assert found["meta"]["flag"] is True
    with pytest.raises(InvalidInput, match="NaN"):
        bench.ledger.record_step(RUN, step(1, output={"score": float("nan")}))
