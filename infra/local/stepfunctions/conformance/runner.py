"""Runs recorded executions and says which level each reaches."""

import json
from dataclasses import dataclass
from typing import Any, Final

from local.stepfunctions.conformance.cases import Case
from local.stepfunctions.conformance.histories import details_difference, kinds_difference
from local.stepfunctions.conformance.match import Matcher
from local.stepfunctions.conformance.normalise import normalise, parse_objects, plain_event
from local.stepfunctions.conformance.world import ROLE, World
from local.stepfunctions.errors import ApiError
from local.stepfunctions.run import Run

LEVELS: Final = 5
_OUTPUT_ONLY: Final = ("choice_operators",)


@dataclass(frozen=True, slots=True)
class Result:
    """How far one case went.

    Attributes:
        id: the case.
        group: its group.
        language: its query language.
        level: the highest level reached, 0 for none.
        path: the first difference, or why it was not run; None when nothing differs.
    """

    id: str
    group: str
    language: str
    level: int
    path: str | None


async def run_case(case: Case) -> Result:
    """Run one case and compare it."""
    try:
        answer = await answer_of(case)
    except ApiError as refusal:
        return _result(case, 0, f"not run: {refusal.message[:300]}")
    except Exception as problem:  # noqa: BLE001 - one broken case must not end the report
        return _result(case, 0, f"not run: {type(problem).__name__}: {problem}")
    level, path = compare(case, answer)
    return _result(case, level, path)


def _result(case: Case, level: int, path: str | None) -> Result:
    return Result(case["id"], case["group"], case["query_language"], level, path)


async def answer_of(case: Case) -> dict[str, Any]:
    """What this engine does with a case, in the recordings' form.

    Raises:
        ApiError: the machine or the execution was refused.
    """
    world = World(case)
    try:
        world.set_up()
        engine = world.engine
        machine = engine.create_state_machine(
            name=case["state_machine_name"],
            definition=json.dumps(case["definition"]),
            type="STANDARD" if case["type"] == "STANDARD" else "EXPRESS",
            role_arn=ROLE,
        )
        target = engine.machines.target(machine)
        run = engine.start(target, json.dumps(case["input"]), case.get("execution_name"))
        await engine.run_run_to_end(run)
        return _answer(run, case)
    finally:
        await world.close()


def _answer(run: Run, case: Case) -> dict[str, Any]:
    answer: dict[str, Any] = {"status": str(run.status)}
    if run.output is not None:
        answer["output"] = run.output.data
    for member, value in (("error", run.error), ("cause", run.cause)):
        if value is not None:
            answer[member] = parse_objects(value)
    answer["events"] = [plain_event(event) for event in run.history]
    normalised: dict[str, Any] = normalise(answer, case.get("bindings", ()))
    return normalised


def compare(case: Case, answer: dict[str, Any]) -> tuple[int, str | None]:
    """The level an answer reaches and its first difference."""
    expected = case["expected"]
    words = case.get("mask_words", ())
    matcher = Matcher(words)
    for level, members in ((1, ("status", "error")), (2, ("output",)), (3, ("cause",))):
        for member in members:
            told = _member(expected, answer, member, matcher)
            if told is not None:
                return level - 1, told
    if case["group"] in _OUTPUT_ONLY or "events" not in expected:
        return LEVELS, None
    lossy = bool(case.get("parallel_events_sorted"))
    told = kinds_difference(expected["events"], answer["events"], lossy=lossy)
    if told is not None:
        return 3, told
    matcher = Matcher(words)
    told = details_difference(expected["events"], answer["events"], matcher, lossy=lossy)
    return (LEVELS, None) if told is None else (4, told)


def _member(
    expected: dict[str, Any], answer: dict[str, Any], member: str, matcher: Matcher
) -> str | None:
    if (member in expected) != (member in answer):
        return f"{member}: recorded {expected.get(member)!r}, found {answer.get(member)!r}"
    if member not in expected:
        return None
    return matcher.difference(expected[member], answer[member], member)
