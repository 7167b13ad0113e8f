"""The engine against executions recorded on AWS, and the comparison against itself."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from moto import mock_aws

from local.stepfunctions.conformance.__main__ import main, run_all
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


def test_recorded_calls_that_name_no_language_get_code_and_status_too() -> None:
    """Versions, aliases, tags and lists were recorded with machines that name no language."""
    _, api = run_all(RECORDINGS, (), only="test_sfn_api")
    counted = [result for result in api if not result.needs_jsonpath]
    misses = [(result.id, result.path) for result in counted if not result.passed]
    assert len(counted) > 100
    assert misses == []


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


CALL_CASE: Final = "test_create_delete_invalid_sm"


def altered(case: Case, name: str, change: Callable[[dict[str, Any]], object]) -> Case:
    """A copy of a case whose recording says something else."""
    copied = copy.deepcopy(case)
    copied["id"] = f"{case['id']}-{name}"
    change(copied["expected"])
    return copied


def write_cases(path: Path, cases: list[Case]) -> None:
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))


def test_a_whole_run_reports_each_altered_case_and_no_other(tmp_path: Path) -> None:
    output, caused, task = case_named(OUTPUT_CASE), case_named(CASE), case_named(TASK_CASE)
    calls = next(
        case
        for case in read_cases(RECORDINGS, "api_cases.jsonl", LANGUAGES)
        if case["id"].endswith(CALL_CASE)
    )
    wrong = [
        altered(output, "output", lambda e: e["output"].__setitem__(1, 7)),
        altered(caused, "cause", lambda e: e.update(cause="Other")),
        altered(task, "event", lambda e: e["events"][2].update(type="TaskFailed")),
    ]
    strange = altered(calls, "code", lambda e: _set_code(e, "Strange"))
    write_cases(tmp_path / "cases.jsonl", [output, caused, task, *wrong])
    write_cases(tmp_path / "api_cases.jsonl", [calls, strange])
    report = tmp_path / "report.json"
    assert main([str(tmp_path), "--report", str(report)]) == 0
    told = json.loads(report.read_text())
    assert {miss["id"]: miss["level"] for miss in told["misses"]} == {
        wrong[0]["id"]: 1,
        wrong[1]["id"]: 2,
        wrong[2]["id"]: 3,
        strange["id"]: 0,
    }
    rows = told["totals"].values()
    counts = [sum(row[key] for row in rows) for key in ("cases", "L1", "L2", "L3", "L4", "L5")]
    assert counts == [6, 6, 5, 4, 3, 3]
    assert told["api"]["passed"] == told["api"]["calls_cases"] - 1 == 1


def _set_code(expected: dict[str, Any], code: str) -> None:
    for answer in expected.values():
        if isinstance(answer, dict) and "Error" in answer:
            answer["Error"]["Code"] = code


def test_what_was_not_run_counts_as_a_miss(tmp_path: Path) -> None:
    case = copy.deepcopy(case_named(CASE))
    case["definition"] = "no definition"
    write_cases(tmp_path / "cases.jsonl", [case])
    write_cases(tmp_path / "api_cases.jsonl", [])
    results, api = run_all(tmp_path, ())
    told = as_json(results, api)
    assert [miss["level"] for miss in told["misses"]] == [0]
