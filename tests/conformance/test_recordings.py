"""The engine against executions recorded on AWS, and the comparison against itself."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from moto import mock_aws

from local.stepfunctions.conformance.__main__ import run_all
from local.stepfunctions.conformance.api_runner import ApiResult
from local.stepfunctions.conformance.cases import Case, read_cases
from local.stepfunctions.conformance.report import as_json
from local.stepfunctions.conformance.runner import Result, answer_of, compare

RECORDINGS: Final = Path(__file__).parents[3] / "shared" / "conformance"
LANGUAGES: Final = ("JSONata", "independent")

pytestmark = pytest.mark.skipif(
    not RECORDINGS.exists(), reason="the recordings are not beside this repository"
)


@pytest.fixture(scope="module")
def results() -> tuple[list[Result], list[ApiResult]]:
    return run_all(RECORDINGS, LANGUAGES)


@pytest.fixture(scope="module")
def report(results: tuple[list[Result], list[ApiResult]]) -> dict[str, Any]:
    return as_json(*results)


@pytest.mark.parametrize(("level", "share"), [("L2", 0.98), ("L4", 0.95), ("L5", 0.90)])
def test_recorded_executions_reach_the_level(
    report: dict[str, Any], level: str, share: float
) -> None:
    rows = [report["totals"][language] for language in LANGUAGES]
    reached = sum(row[level] for row in rows) / sum(row["cases"] for row in rows)
    assert reached >= share


def test_recorded_calls_get_the_recorded_code_and_status(report: dict[str, Any]) -> None:
    assert report["api"]["passed"] >= 0.85 * report["api"]["calls_cases"]


def test_every_miss_says_where_it_differs(report: dict[str, Any]) -> None:
    assert all(miss["path"] for miss in report["misses"])


CASE: Final = "test_fail_cause_jsonata"
OUTPUT_CASE: Final = "test_base_output_any_non_dict[LIST_RICH]"
TASK_CASE: Final = "test_task_catch_error_output[TASK_CATCH_ERROR_OUTPUT]"
MAP_CASE: Final = "test_map_state_nested"


def case_named(name: str) -> Case:
    cases = read_cases(RECORDINGS, "cases.jsonl", LANGUAGES)
    return next(case for case in cases if case["id"].endswith(name))


async def level_after(name: str, change: Callable[[dict[str, Any]], None]) -> int:
    """The level a passing case reaches once its recording was altered."""
    case = copy.deepcopy(case_named(name))
    with mock_aws():
        answer = await answer_of(case)
    assert compare(case, answer) == (5, None)
    change(case["expected"])
    level, path = compare(case, answer)
    assert path is not None
    return level


async def test_an_altered_status_or_error_is_noticed() -> None:
    assert await level_after(CASE, lambda e: e.update(status="SUCCEEDED")) == 0
    assert await level_after(CASE, lambda e: e.update(error="Other")) == 0


async def test_an_altered_output_is_noticed() -> None:
    assert await level_after(OUTPUT_CASE, lambda e: e["output"].__setitem__(1, 7)) == 1
    assert await level_after(OUTPUT_CASE, lambda e: e["output"].__setitem__(1, False)) == 1


async def test_an_altered_cause_is_noticed() -> None:
    assert await level_after(CASE, lambda e: e.update(cause="Other")) == 2


@pytest.mark.parametrize("name", [CASE, TASK_CASE, MAP_CASE])
async def test_an_altered_event_type_is_noticed(name: str) -> None:
    def change(expected: dict[str, Any]) -> None:
        expected["events"][-2]["type"] = "WaitStateEntered"

    assert await level_after(name, change) == 3


async def test_a_missing_event_is_noticed_even_inside_a_map() -> None:
    assert await level_after(MAP_CASE, lambda e: e["events"].pop(8)) == 3


async def test_altered_details_of_an_event_are_noticed() -> None:
    def change(expected: dict[str, Any]) -> None:
        expected["events"][2]["details"]["resourceType"] = "sqs"

    assert await level_after(TASK_CASE, change) == 4


async def test_an_altered_previous_event_is_noticed() -> None:
    def change(expected: dict[str, Any]) -> None:
        expected["events"][3]["prev"] = 1

    assert await level_after(TASK_CASE, change) == 4


async def test_one_wildcard_stands_for_one_value_through_the_case() -> None:
    def change(expected: dict[str, Any]) -> None:
        expected["events"][4]["details"]["cause"]["errorMessage"] = "<uuid:1>"

    assert await level_after(TASK_CASE, change) == 4
