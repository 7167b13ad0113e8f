"""Every state machine is whole: it parses, ends, waits no longer than it says, and explains itself.

Each rule returns the sentences that name what is missing; each is shown to fail on altered data.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from architecture.project import (
    Json,
    Project,
    State,
    hold,
    inner_machines,
    pascal,
    scopes,
    step_module,
    targets,
)

ENDS: Final = frozenset({"Succeed", "Fail"})


def languages(project: Project) -> Iterator[str]:
    for workflow, definition in project.machines.items():
        if definition.get("QueryLanguage") != "JSONata":
            yield f"{workflow}: has to declare QueryLanguage JSONata at the top"
    for state in project.states():
        if "QueryLanguage" in state.body:
            yield f"{state}: declares QueryLanguage again"


def dangling(project: Project) -> Iterator[str]:
    for place, machine in _all_scopes(project):
        names = machine["States"].keys()
        if machine["StartAt"] not in names:
            yield f"{place}: StartAt names {machine['StartAt']}, which is no state"
        for name, body in machine["States"].items():
            for target in targets(body):
                if target not in names:
                    yield f"{place}: {name} leads to {target}, which is no state"


def dead_ends(project: Project) -> Iterator[str]:
    for state in project.states():
        ends = state.body.get("End") is True or state.type in ENDS
        if ("Next" in state.body) == ends and state.type != "Choice":
            yield f"{state}: needs exactly one of Next and End"


def unreachable(project: Project) -> Iterator[str]:
    for place, machine in _all_scopes(project):
        seen: set[str] = set()
        waiting = [machine["StartAt"]]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(targets(machine["States"][name]))
        for name in machine["States"].keys() - seen:
            yield f"{place}: nothing leads to {name}"


def without_comment(project: Project) -> Iterator[str]:
    for workflow, definition in project.machines.items():
        if not definition.get("Comment"):
            yield f"{workflow}: needs a Comment; the console shows it"
    for state in project.states():
        if not state.body.get("Comment"):
            yield f"{state}: needs a Comment; the console shows it"


def misnamed(project: Project) -> Iterator[str]:
    for state in project.states():
        if (state.type == "Choice") != state.name.endswith("?"):
            yield f"{state}: a Choice is named as a question, and nothing else is"
        if state.step and state.name != pascal(state.step):
            yield f"{state}: runs {state.step}, so it has to be named {pascal(state.step)}"


def without_timeout(project: Project) -> Iterator[str]:
    for workflow, definition in project.machines.items():
        if not _whole_number(definition.get("TimeoutSeconds")):
            yield f"{workflow}: needs a literal TimeoutSeconds at the top"
    for state in project.tasks():
        if "TimeoutSeconds" not in state.body:
            what = "would hang for ever" if _waits_for_token(state) else "needs TimeoutSeconds"
            yield f"{state}: {what}; give it TimeoutSeconds"


def retry_without_literals(project: Project) -> Iterator[str]:
    for state in project.states():
        for retrier in state.body.get("Retry", []):
            for field, value in retrier.items():
                if isinstance(value, str) and ("{%" in value or "${" in value):
                    yield f"{state}: {field} in Retry has to be a literal"


def uncaught(project: Project, undone: frozenset[str]) -> Iterator[str]:
    """A workflow with an effect to undo has to catch; without one, the run fails where it fails.

    Then it ends under the error's real name, and redrive continues exactly there.
    """
    with_effects = {state.workflow for state in project.tasks() if state.step in undone}
    for state in project.tasks():
        if state.workflow in with_effects and "Catch" not in state.body:
            yield f"{state}: needs a Catch, because its workflow has effects to undo"


def forgetful_catches(project: Project) -> Iterator[str]:
    """A Catch that drops the error leaves whoever undoes or repairs with nothing."""
    for state in project.states():
        for caught in state.body.get("Catch", []):
            if "Assign" not in caught and "Output" not in caught:
                yield f"{state}: its Catch keeps nothing; give it Assign or Output"
            broad = {"States.ALL", "States.TaskFailed"} & set(caught["ErrorEquals"])
            if broad and "$states.errorOutput" not in str(caught):
                yield f"{state}: its Catch of {min(broad)} has to keep $states.errorOutput"


def uncounted_cycles(project: Project) -> Iterator[str]:
    for place, machine in _all_scopes(project):
        edges = _counted_edges(machine)
        for name in machine["States"]:
            if _returns_to(name, {(source, to) for source, to, counts in edges if not counts}):
                yield f"{place}: {name} is on a cycle that counts nothing; assign a counter + 1"


def bare_placeholders(texts: Mapping[str, str]) -> Iterator[str]:
    for name, text in texts.items():
        for line in text.splitlines():
            outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
            if "${" in outside:
                yield f"{name}: a placeholder stands outside quotes: {line.strip()}"


def _undone(project: Project) -> frozenset[str]:
    """Steps whose effect another step undoes."""
    handlers = {name: step_module(name, "handler").handler for name in project.steps()}
    return frozenset(
        name for name, handler in handlers.items() if getattr(handler, "compensated_by", None)
    )


def _all_scopes(project: Project) -> Iterator[tuple[str, Json]]:
    for workflow, definition in project.machines.items():
        yield from scopes(workflow, definition)


def _whole_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _waits_for_token(state: State) -> bool:
    return str(state.body.get("Resource", "")).endswith(".waitForTaskToken")


def _counted_edges(machine: Json) -> list[tuple[str, str, bool]]:
    edges: list[tuple[str, str, bool]] = []
    for name, body in machine["States"].items():
        counted = _counts(body)
        edges.extend((name, to, counted) for to in targets({**body, "Catch": []}))
        edges.extend((name, caught["Next"], _counts(caught)) for caught in body.get("Catch", []))
    return edges


def _counts(transition: Json) -> bool:
    assigned = transition.get("Assign", {}).items()
    return any(re.fullmatch(rf"{{% \${name} \+ 1 %}}", str(value)) for name, value in assigned)


def _returns_to(name: str, edges: set[tuple[str, str]]) -> bool:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        at = waiting.pop()
        for source, to in edges:
            if source == at and to not in seen:
                seen.add(to)
                waiting.append(to)
    return name in seen


def test_jsonata_is_declared_once_at_the_top(project: Project) -> None:
    hold(languages(project))


def test_a_second_query_language_is_named(project: Project) -> None:
    altered = project.with_machine("ask-model", lambda d: d.pop("QueryLanguage"))
    assert list(languages(altered)) == [
        "ask-model: has to declare QueryLanguage JSONata at the top"
    ]
    altered = project.with_machine(
        "ask-model", lambda d: d["States"]["Begin"].update(QueryLanguage="JSONPath")
    )
    assert list(languages(altered)) == ["ask-model: Begin: declares QueryLanguage again"]


def test_every_target_exists(project: Project) -> None:
    hold(dangling(project))


def test_a_target_that_is_no_state_is_named(project: Project) -> None:
    altered = project.with_machine("ask-model", lambda d: d["States"]["Begin"].update(Next="Lost"))
    assert list(dangling(altered)) == ["ask-model: Begin leads to Lost, which is no state"]


def test_every_state_goes_on_or_ends(project: Project) -> None:
    hold(dead_ends(project))


def test_a_state_that_goes_nowhere_is_named(project: Project) -> None:
    altered = project.with_machine("ask-model", lambda d: d["States"]["Begin"].pop("Next"))
    assert list(dead_ends(altered)) == ["ask-model: Begin: needs exactly one of Next and End"]


def test_every_state_is_reachable(project: Project) -> None:
    hold(unreachable(project))


def test_an_unreachable_state_is_named_also_inside_a_map(project: Project) -> None:
    def detour(definition: Json) -> None:
        inner = definition["States"]["IngestBatches"]["ItemProcessor"]
        inner["States"]["ChunkDocuments"]["Next"] = "Admit"

    altered = project.with_machine("ingest-documents", detour)
    assert set(unreachable(altered)) == {
        "ingest-documents/IngestBatches: nothing leads to Anything to embed?",
        "ingest-documents/IngestBatches: nothing leads to NothingToEmbed",
    }


def test_machine_and_states_carry_a_comment(project: Project) -> None:
    hold(without_comment(project))


def test_a_missing_comment_is_named(project: Project) -> None:
    altered = project.with_machine("ask-model", lambda d: d["States"]["Begin"].pop("Comment"))
    assert list(without_comment(altered)) == [
        "ask-model: Begin: needs a Comment; the console shows it"
    ]


def test_a_choice_is_a_question_and_a_task_bears_its_steps_name(project: Project) -> None:
    hold(misnamed(project))


def test_a_wrong_name_is_named(project: Project) -> None:
    def rename(definition: Json) -> None:
        definition["States"]["AskIt"] = definition["States"].pop("CallModel")
        definition["States"]["Choice2"] = definition["States"].pop("Accepted?")

    assert set(misnamed(project.with_machine("ask-model", rename))) == {
        "ask-model: AskIt: runs call_model, so it has to be named CallModel",
        "ask-model: Choice2: a Choice is named as a question, and nothing else is",
    }


def test_machines_and_tasks_have_timeouts(project: Project) -> None:
    hold(without_timeout(project))


def test_a_callback_without_timeout_is_named(project: Project) -> None:
    altered = project.with_machine(
        "ask-model", lambda d: d["States"]["Admit"].pop("TimeoutSeconds")
    )
    assert list(without_timeout(altered)) == [
        "ask-model: Admit: would hang for ever; give it TimeoutSeconds"
    ]


def test_a_machines_timeout_is_a_literal(project: Project) -> None:
    altered = project.with_machine("ask-model", lambda d: d.update(TimeoutSeconds="{% 1800 %}"))
    assert list(without_timeout(altered)) == [
        "ask-model: needs a literal TimeoutSeconds at the top"
    ]


def test_retry_takes_literals_only(project: Project) -> None:
    hold(retry_without_literals(project))


def test_an_expression_in_retry_is_named(project: Project) -> None:
    altered = project.with_machine(
        "ask-model",
        lambda d: d["States"]["Admit"]["Retry"][0].update(IntervalSeconds="{% $wait %}"),
    )
    assert list(retry_without_literals(altered)) == [
        "ask-model: Admit: IntervalSeconds in Retry has to be a literal"
    ]


def test_tasks_catch_where_something_has_to_be_undone(project: Project) -> None:
    hold(uncaught(project, _undone(project)))


def test_a_task_that_leaves_effects_behind_is_named(project: Project) -> None:
    assert list(uncaught(project, frozenset({"call_model"}))) == [
        "ask-model: Admit: needs a Catch, because its workflow has effects to undo"
    ]


def test_a_catch_keeps_what_repair_and_undo_need(project: Project) -> None:
    hold(forgetful_catches(project))


def test_a_catch_that_forgets_is_named(project: Project) -> None:
    def forget(definition: Json) -> None:
        definition["States"]["CallModel"]["Catch"] = [
            {"ErrorEquals": ["States.ALL"], "Next": "Admit"}
        ]

    assert list(forgetful_catches(project.with_machine("ask-model", forget))) == [
        "ask-model: CallModel: its Catch keeps nothing; give it Assign or Output",
        "ask-model: CallModel: its Catch of States.ALL has to keep $states.errorOutput",
    ]


def test_every_cycle_has_a_counter(project: Project) -> None:
    hold(uncounted_cycles(project))


def test_a_cycle_without_counter_is_named(project: Project) -> None:
    altered = project.with_machine("ask-model", lambda d: d["States"]["Correct"].pop("Assign"))
    assert "ask-model: Correct is on a cycle that counts nothing; assign a counter + 1" in set(
        uncounted_cycles(altered)
    )


def test_placeholders_stand_inside_quotes(project: Project) -> None:
    files = (project.root / "statemachines").glob("*.asl.json")
    hold(bare_placeholders({path.name: path.read_text() for path in files}))


def test_a_bare_placeholder_is_named() -> None:
    texts = {"x.asl.json": '{"TimeoutSeconds": ${Seconds}}'}
    assert list(bare_placeholders(texts)) == [
        'x.asl.json: a placeholder stands outside quotes: {"TimeoutSeconds": ${Seconds}}'
    ]


def test_states_inside_map_and_parallel_are_seen() -> None:
    assert inner_machines({"Branches": [{"StartAt": "A"}, {"StartAt": "B"}]}) == [
        {"StartAt": "A"},
        {"StartAt": "B"},
    ]
