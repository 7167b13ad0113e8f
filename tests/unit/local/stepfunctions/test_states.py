"""Pass, Choice, Wait, Succeed, Fail, Parallel and Map."""

from typing import Any

import pytest

from local.stepfunctions.errors import ApiError
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import machine, program, task, waiting_task


async def test_assign_and_output_both_see_the_values_from_before(sfn: StepFunctions) -> None:
    first = {"Type": "Pass", "Assign": {"n": 1}}
    second = {"Type": "Pass", "Assign": {"n": "{% $n + 1 %}"}, "Output": "{% $n %}"}
    third = {"Type": "Pass", "Output": ["{% $states.input %}", "{% $n %}"]}
    execution = await sfn.start(machine(A=first, B=second, C=third))
    assert execution.output == [1, 2]


async def test_the_first_rule_that_holds_decides(sfn: StepFunctions) -> None:
    choice = {
        "Type": "Choice",
        "Choices": [
            {"Condition": "{% $states.input > 10 %}", "Next": "Big"},
            {"Condition": "{% $states.input > 5 %}", "Next": "Middle", "Output": "m"},
        ],
        "Default": "Small",
    }
    ends = {name: {"Type": "Succeed"} for name in ("Big", "Middle", "Small")}
    definition = machine(**{"How big?": choice}, **ends)
    assert (await sfn.start(definition, 7)).output == "m"
    assert (await sfn.start(definition, 1)).states[-1] == "Small"


async def test_no_rule_and_no_default_fails(sfn: StepFunctions) -> None:
    choice = {"Type": "Choice", "Choices": [{"Condition": "{% false %}", "Next": "End"}]}
    execution = await sfn.start(machine(Choose=choice, End={"Type": "Succeed"}))
    assert execution.error == "States.NoChoiceMatched"


async def test_a_condition_that_is_no_boolean_fails(sfn: StepFunctions) -> None:
    choice = {"Type": "Choice", "Choices": [{"Condition": "{% 1 %}", "Next": "End"}]}
    execution = await sfn.start(machine(Choose=choice, End={"Type": "Succeed"}))
    assert execution.error == "States.QueryEvaluationError"
    assert "Expected 'boolean', but was 'number' for value: 1" in (execution.cause or "")


async def test_wait_lets_exactly_its_seconds_pass(sfn: StepFunctions) -> None:
    execution = await sfn.start(machine(Night={"Type": "Wait", "Seconds": 86_400}))
    await sfn.advance(hours=23, minutes=59, seconds=59)
    assert execution.status == "RUNNING"
    await sfn.advance(seconds=1)
    assert execution.status == "SUCCEEDED"
    times = [event.timestamp for event in execution.history]
    assert times[-1] - times[0] == 86_400_000


async def test_wait_until_a_moment_ends_at_it(sfn: StepFunctions) -> None:
    state = {"Type": "Wait", "Timestamp": "{% $states.input %}"}
    execution = await sfn.start(machine(Until=state), "2026-12-01T14:00:00+01:00")
    await sfn.advance(minutes=59)
    assert execution.status == "RUNNING"
    await sfn.advance(minutes=1)
    assert execution.status == "SUCCEEDED"


async def test_now_follows_the_virtual_clock(sfn: StepFunctions) -> None:
    output = {"now": "{% $now() %}", "entered": "{% $states.context.State.EnteredTime %}"}
    later = {"Type": "Pass", "Output": output}
    execution = await sfn.start(machine(Night={"Type": "Wait", "Seconds": 3600}, Later=later))
    await sfn.advance(hours=1)
    moment = "2026-12-01T13:00:00.000Z"
    assert execution.output == {"now": moment, "entered": moment}


async def test_fail_takes_error_and_cause_from_expressions(sfn: StepFunctions) -> None:
    state = {"Type": "Fail", "Error": "{% $states.input.e %}", "Cause": "{% 'because ' & 1 %}"}
    execution = await sfn.start(machine(Stop=state), {"e": "BudgetExceeded"})
    assert (execution.error, execution.cause) == ("BudgetExceeded", "because 1")


async def test_parallel_gives_the_outputs_in_the_order_of_its_branches(sfn: StepFunctions) -> None:
    branches = [
        program(Slow={"Type": "Wait", "Seconds": 10}, A={"Type": "Pass", "Output": "a"}),
        program(B={"Type": "Pass", "Output": "b"}),
    ]
    execution = await sfn.start(machine(Both={"Type": "Parallel", "Branches": branches}))
    await sfn.advance(seconds=10)
    assert execution.output == ["a", "b"]


async def test_a_failing_branch_stops_its_siblings(sfn: StepFunctions) -> None:
    tokens: list[str] = []
    sfn.function("hold", lambda event: tokens.append(event["token"]))
    branches = [
        program(Hold=waiting_task()),
        program(Soon={"Type": "Wait", "Seconds": 5}, Stop={"Type": "Fail", "Error": "X"}),
    ]
    execution = await sfn.start(machine(Both={"Type": "Parallel", "Branches": branches}))
    await sfn.advance(seconds=5)
    assert execution.error == "X"
    assert execution.types[-3:] == ["TaskStateAborted", "ParallelStateFailed", "ExecutionFailed"]
    with pytest.raises(ApiError):
        sfn.engine.send_task_success(tokens[0], "1")


async def test_a_failing_iteration_stops_its_siblings(sfn: StepFunctions) -> None:
    tokens: list[str] = []
    sfn.function("hold", lambda event: tokens.append(event["token"]))
    question = {"Condition": "{% $states.input = 0 %}", "Next": "Soon"}
    each = {
        "StartAt": "First?",
        "States": {
            "First?": {"Type": "Choice", "Choices": [question], "Default": "Hold"},
            "Soon": {"Type": "Wait", "Seconds": 5, "Next": "Stop"},
            "Stop": {"Type": "Fail", "Error": "X"},
            "Hold": waiting_task(End=True),
        },
    }
    state = {"Type": "Map", "ItemProcessor": each, "MaxConcurrency": 2}
    execution = await sfn.start(machine(All=state), [0, 1, 2])
    await sfn.advance(seconds=5)
    assert execution.error == "X"
    assert execution.types.count("MapIterationAborted") == 1
    assert execution.types.count("MapIterationStarted") == 2
    with pytest.raises(ApiError):
        sfn.succeed(tokens[0], 1)


async def test_what_an_iteration_assigns_stays_in_the_iteration(sfn: StepFunctions) -> None:
    first = {"Type": "Pass", "Assign": {"outer": 1}}
    assign = {"Type": "Pass", "Assign": {"own": "{% $states.input + $outer %}"}}
    look = {"Type": "Pass", "Output": "{% $own %}"}
    state = {"Type": "Map", "Items": [1, 2], "ItemProcessor": program(A=assign, Look=look)}
    after = {"Type": "Pass", "Output": ["{% $states.input %}", "{% $exists($own) %}"]}
    execution = await sfn.start(machine(First=first, All=state, After=after))
    assert execution.output == [[2, 3], False]


async def test_what_a_branch_assigns_stays_in_the_branch(sfn: StepFunctions) -> None:
    branches = [
        program(A={"Type": "Pass", "Assign": {"own": 1}, "Output": "{% $shared %}"}),
        program(B={"Type": "Pass", "Output": "{% $exists($own) %}"}),
    ]
    both = {"Type": "Parallel", "Branches": branches}
    after = {"Type": "Pass", "Output": ["{% $states.input %}", "{% $exists($own) %}"]}
    first = {"Type": "Pass", "Assign": {"shared": "s"}}
    execution = await sfn.start(machine(First=first, Both=both, After=after))
    assert execution.output == [["s", False], False]


async def test_a_map_gives_each_item_and_its_index_to_the_selector(sfn: StepFunctions) -> None:
    state = {
        "Type": "Map",
        "Items": "{% $states.input.items %}",
        "ItemSelector": {
            "item": "{% $states.context.Map.Item.Value %}",
            "at": "{% $states.context.Map.Item.Index %}",
            "of": "{% $count($states.input.items) %}",
        },
        "ItemProcessor": program(Each={"Type": "Pass"}),
    }
    execution = await sfn.start(machine(All=state), {"items": ["a", "b"]})
    assert execution.output == [
        {"item": "a", "at": 0, "of": 2},
        {"item": "b", "at": 1, "of": 2},
    ]


async def test_a_map_runs_no_more_iterations_at_once_than_it_may(sfn: StepFunctions) -> None:
    busy: list[int] = []
    most: list[int] = []

    async def work(item: int) -> int:
        busy.append(item)
        most.append(len(busy))
        await sfn.sleep(1)
        busy.remove(item)
        return item

    sfn.function("work", work)
    state = {"Type": "Map", "MaxConcurrency": 3, "ItemProcessor": program(Work=task())}
    execution = await sfn.finish(await sfn.start(machine(All=state), list(range(10))))
    assert execution.output == list(range(10))
    assert max(most) == 3


async def test_a_failing_iteration_fails_the_map_and_a_retry_starts_it_anew(
    sfn: StepFunctions,
) -> None:
    failures = ["once"]

    def work(item: int) -> int:
        if item == 1 and failures:
            failures.clear()
            raise TimeoutError("slow")
        return item

    sfn.function("work", work)
    retry = [{"ErrorEquals": ["TimeoutError"]}]
    state = {
        "Type": "Map",
        "MaxConcurrency": 1,
        "Retry": retry,
        "ItemProcessor": program(Work=task()),
    }
    execution = await sfn.finish(await sfn.start(machine(All=state), [0, 1]))
    assert execution.output == [0, 1]
    assert execution.types.count("MapStateStarted") == 2
    assert "MapIterationFailed" in execution.types


async def test_a_thousand_items_keep_their_order(sfn: StepFunctions) -> None:
    state = {
        "Type": "Map",
        "Items": "{% [1..1000] %}",
        "ItemProcessor": program(Each={"Type": "Pass", "Output": "{% $states.input * 2 %}"}),
    }
    execution = await sfn.start(machine(All=state))
    assert execution.output == [2 * n for n in range(1, 1001)]


async def test_an_execution_that_never_ends_is_ended_by_its_history(sfn: StepFunctions) -> None:
    loop: dict[str, Any] = {"Type": "Pass", "Next": "Again"}
    definition = {"QueryLanguage": "JSONata", "StartAt": "Again", "States": {"Again": loop}}
    execution = await sfn.start(definition)
    assert execution.status == "FAILED"
    assert len(execution.history) == 25_000
    assert execution.types[-1] == "ExecutionFailed"
    assert "25000" in (execution.cause or "")
    with pytest.raises(ApiError) as refused:
        sfn.engine.redrive_execution(execution.arn)
    assert refused.value.code == "ExecutionNotRedrivable"


async def test_a_failure_outside_stops_everything_inside(sfn: StepFunctions) -> None:
    tokens: list[str] = []
    sfn.function("hold", lambda event: tokens.append(event["token"]))
    each = program(Hold=waiting_task())
    inner = {"Type": "Map", "Items": [1, 2], "ItemProcessor": each}
    around = {"Type": "Parallel", "Branches": [program(All=inner)]}
    fail = program(Soon={"Type": "Wait", "Seconds": 5}, Stop={"Type": "Fail", "Error": "X"})
    both = {"Type": "Parallel", "Branches": [program(Around=around), fail]}
    execution = await sfn.start(machine(Both=both))
    await sfn.advance(seconds=5)
    assert execution.error == "X"
    aborted = [kind for kind in execution.types if "Aborted" in kind]
    assert sorted(aborted) == [
        "MapIterationAborted",
        "MapIterationAborted",
        "MapStateAborted",
        "ParallelStateAborted",
        "TaskStateAborted",
        "TaskStateAborted",
    ]
    for token in tokens:
        with pytest.raises(ApiError):
            sfn.succeed(token, 1)


async def test_an_item_whose_selector_fails_fails_the_map_by_its_name(sfn: StepFunctions) -> None:
    state = {
        "Type": "Map",
        "MaxConcurrency": 1,
        "ItemSelector": "{% $states.context.Map.Item.Value.n %}",
        "ItemProcessor": program(Each={"Type": "Pass"}),
        "Catch": [{"ErrorEquals": ["States.QueryEvaluationError"], "Next": "After"}],
        "Next": "After",
    }
    after = {"Type": "Pass", "Output": "caught"}
    execution = await sfn.start(machine(All=state, After=after), [{"n": 1}, {"other": 2}])
    assert execution.output == "caught"
    assert execution.types.count("MapIterationStarted") == 2


async def test_a_map_whose_own_output_fails_is_caught_by_its_name(sfn: StepFunctions) -> None:
    state = {
        "Type": "Map",
        "ItemProcessor": program(Each={"Type": "Pass"}),
        "Output": "{% $nothing %}",
        "Catch": [{"ErrorEquals": ["States.QueryEvaluationError"], "Next": "After"}],
        "Next": "After",
    }
    after = {"Type": "Pass", "Output": "caught"}
    execution = await sfn.start(machine(All=state, After=after), [1])
    assert execution.output == "caught"


async def test_a_catch_whose_output_fails_fails_the_execution(sfn: StepFunctions) -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "Output": "{% $nothing %}", "Next": "After"}]
    state = task("missing", Catch=catch, Next="After")
    execution = await sfn.start(machine(Work=state, After={"Type": "Succeed"}))
    assert execution.error == "States.QueryEvaluationError"


async def test_all_variables_together_have_a_limit_of_their_own(sfn: StepFunctions) -> None:
    def assigning(count: int) -> dict[str, Any]:
        large = "{% $pad('', 262000, 'x') %}"
        states = {f"S{n}": {"Type": "Pass", "Assign": {f"v{n}": large}} for n in range(count)}
        return machine(**states)

    assert (await sfn.start(assigning(40))).status == "SUCCEEDED"
    execution = await sfn.start(assigning(41))
    assert (execution.error, execution.states[-1]) == ("States.DataLimitExceeded", "S40")
