"""Retry lives in the machines only, by the same policies everywhere, and waits fit into waits."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Final

from architecture.project import Json, Project, State, hold, kebab, step_module
from autoops import errors
from local.verify.policies import (
    BOUNDED,
    IN_PROGRESS,
    LEASE_MARGIN_SECONDS,
    POLICIES,
    THROTTLED,
    TIMEOUT,
    TRANSIENT,
)

FROM_AWS: Final = frozenset(
    {
        *(name for names in POLICIES for name in names if "." in name),
        "Runtime.HandlerNotFound",
        "Runtime.ImportModuleError",
        "States.ALL",
        "States.DataLimitExceeded",
        "States.ExceedToleratedFailureThreshold",
        "States.HeartbeatTimeout",
        "States.ItemReaderFailed",
        "States.Permissions",
        "States.QueryEvaluationError",
        "States.ResultWriterFailed",
        "States.Runtime",
        "States.TaskFailed",
    }
)
NO_RETRY: Final[Mapping[str, str]] = {
    "states:startExecution.sync:2": "the child retries; starting it again would pay again",
}
"""What a Task may run without the three policies, and why."""

LAMBDA: Final = "arn:aws:states:::lambda:invoke"
GATE: Final = "admit"
MARGIN_SECONDS: Final = 10


def unknown_names(project: Project) -> Iterator[str]:
    for state in project.states():
        for rule in [*state.body.get("Retry", []), *state.body.get("Catch", [])]:
            for name in rule["ErrorEquals"]:
                if name not in OURS and name not in FROM_AWS:
                    yield f"{state}: {name} is no error of autoops.errors nor of AWS"


def never_retried(project: Project) -> Iterator[str]:
    retried = {name for state in project.states() for name in _retried(state)}
    for name, error in OURS.items():
        if _leaf(error) and issubclass(error, errors.TryAgain) and name not in retried:
            yield f"{name} is a TryAgain that no machine retries"


def wrong_policies(project: Project) -> Iterator[str]:
    for state in project.states():
        for retrier in state.body.get("Retry", []):
            names = tuple(retrier["ErrorEquals"])
            figures = {name: value for name, value in retrier.items() if name != "ErrorEquals"}
            if names not in POLICIES:
                yield f"{state}: retries {', '.join(names)}, which is none of the policies"
            elif not POLICIES[names].items() <= figures.items():
                yield f"{state}: retries {names[0]} with other figures than {POLICIES[names]}"


def missing_policies(project: Project) -> Iterator[str]:
    for state in project.tasks():
        resource = state.body["Resource"].removeprefix("arn:aws:states:::")
        if resource in NO_RETRY:
            continue
        wanted = {*TRANSIENT, *THROTTLED, *BOUNDED}
        if state.step == GATE or _back_to_the_gate(state):
            wanted -= {THROTTLED[0]}
        for name in sorted(wanted - set(_retried(state))):
            yield f"{state}: does not retry {name}"


def impatient_calls(project: Project) -> Iterator[str]:
    """A call that was refused for rate waits without slot and money, so behind the gate."""
    for state in project.tasks():
        through = state.step == GATE or _back_to_the_gate(state)
        if through and THROTTLED[0] in _retried(state):
            yield f"{state}: retries {THROTTLED[0]}; it has to go back through the gate"
        if _makes_calls(state) and not through:
            yield f"{state}: does not catch {THROTTLED[0]} back to the gate"


def hopeless_retries(project: Project) -> Iterator[str]:
    hopeless = {name for name, error in OURS.items() if issubclass(error, errors.GiveUp)}
    hopeless |= {"Runtime.ImportModuleError", "Runtime.HandlerNotFound", "States.ALL"}
    for state in project.states():
        for name in sorted(hopeless & set(_retried(state))):
            yield f"{state}: retries {name}, which cannot heal"


def unsafe_timeouts(project: Project) -> Iterator[str]:
    """A state's timeout says nothing of whether its work goes on: only harmless work is redone."""
    for state in project.tasks():
        harmless = state.body["Resource"] == LAMBDA and not _once_only(state)
        if TIMEOUT in _retried(state) and not harmless:
            yield f"{state}: must not retry {TIMEOUT}: its work may still go on"
        if harmless and TIMEOUT not in _retried(state):
            yield f"{state}: does not retry {TIMEOUT}"


def short_of_the_lease(project: Project) -> Iterator[str]:
    """Whoever comes after a worker that was cut off waits until that worker's lease is over."""
    lease = project.template["Parameters"]["LeaseSeconds"]["Default"]
    for state in project.tasks():
        if not state.step:
            continue
        waits = sum(
            _waited(retrier)
            for retrier in state.body.get("Retry", [])
            if tuple(retrier["ErrorEquals"]) == IN_PROGRESS
        )
        needed = _function_timeout(project, state) + LEASE_MARGIN_SECONDS
        needed += 0 if _once_only(state) else lease
        held = _once_only(state) or _makes_calls(state)
        if (waits or held) and waits < needed:
            yield f"{state}: waits {waits:.0f} s for CallInProgress, the lease needs {needed} s"


def late_functions(project: Project) -> Iterator[str]:
    for state in project.tasks():
        if state.step:
            least = _function_timeout(project, state) + MARGIN_SECONDS
            if state.body["TimeoutSeconds"] <= least:
                yield f"{state}: TimeoutSeconds has to be over {least}, its function's and a margin"
        child = _child(project, state)
        if child and state.body["TimeoutSeconds"] <= child["TimeoutSeconds"] + MARGIN_SECONDS:
            yield f"{state}: TimeoutSeconds has to be over its child's and a margin"


OURS: Final = {
    name: error
    for name, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, errors.AutoOpsError)
}


def _leaf(error: type[errors.AutoOpsError]) -> bool:
    return not error.__subclasses__()


def _retried(state: State) -> list[str]:
    return [name for rule in state.body.get("Retry", []) for name in rule["ErrorEquals"]]


def _once_only(state: State) -> bool:
    """The step has an effect: a second delivery must not act again."""
    return bool(step_module(state.step, "handler").handler.idempotent)


def _makes_calls(state: State) -> bool:
    """The step works under an admission."""
    ports = step_module(state.step, "handler").handler.ports if state.step else {}
    return "gate" in ports and state.step != GATE


def _back_to_the_gate(state: State) -> bool:
    caught = {name for rule in state.body.get("Catch", []) for name in rule["ErrorEquals"]}
    return THROTTLED[0] in caught


def _waited(retrier: Json) -> float:
    waits: Iterator[float] = (
        retrier["IntervalSeconds"] * retrier["BackoffRate"] ** attempt
        for attempt in range(retrier["MaxAttempts"])
    )
    cap: float = retrier["MaxDelaySeconds"]
    return sum(min(wait, cap) for wait in waits)


def _function_timeout(project: Project, state: State) -> int:
    seconds: int = project.functions[state.placeholder.removesuffix("Arn")]["Timeout"]
    return seconds


def _child(project: Project, state: State) -> Json | None:
    name = kebab(state.placeholder.removesuffix("WorkflowArn"))
    return project.machines.get(name) if state.placeholder.endswith("WorkflowArn") else None


def test_error_names_exist(project: Project) -> None:
    hold(unknown_names(project))


def test_an_unknown_error_name_is_named(project: Project) -> None:
    def misspell(definition: Json) -> None:
        definition["States"]["CallModel"]["Catch"][0]["ErrorEquals"] = ["AdmisionLost"]

    assert list(unknown_names(project.with_machine("ask-model", misspell))) == [
        "ask-model: CallModel: AdmisionLost is no error of autoops.errors nor of AWS"
    ]


def test_every_try_again_is_retried_somewhere(project: Project) -> None:
    hold(never_retried(project))


def test_a_try_again_that_nothing_retries_is_named(project: Project) -> None:
    assert "CallInProgress is a TryAgain that no machine retries" in set(
        never_retried(Project(project.template, project.stacks, {}))
    )


def test_retry_policies_are_the_same_everywhere(project: Project) -> None:
    hold(wrong_policies(project))


def test_another_policy_is_named(project: Project) -> None:
    def alter(definition: Json) -> None:
        definition["States"]["Admit"]["Retry"][0]["MaxAttempts"] = 7
        definition["States"]["Admit"]["Retry"][1]["ErrorEquals"] = ["States.ALL"]

    found = list(wrong_policies(project.with_machine("ask-model", alter)))
    assert found[0].startswith("ask-model: Admit: retries ModelUnavailable with other figures")
    assert found[1] == "ask-model: Admit: retries States.ALL, which is none of the policies"


def test_tasks_retry_what_heals(project: Project) -> None:
    hold(missing_policies(project))


def test_a_task_without_a_policy_is_named(project: Project) -> None:
    altered = project.with_machine("ask-model", lambda d: d["States"]["Admit"]["Retry"].pop(1))
    assert list(missing_policies(altered)) == [
        "ask-model: Admit: does not retry Lambda.TooManyRequestsException",
    ]


def test_a_throttled_call_goes_back_through_the_gate(project: Project) -> None:
    hold(impatient_calls(project))


def test_a_call_that_waits_for_its_model_with_slot_and_money_is_named(project: Project) -> None:
    def retry(definition: Json) -> None:
        definition["States"]["Admit"]["Retry"][1]["ErrorEquals"] = list(THROTTLED)
        definition["States"]["CallModel"]["Catch"].pop(1)

    assert list(impatient_calls(project.with_machine("ask-model", retry))) == [
        "ask-model: Admit: retries ModelThrottled; it has to go back through the gate",
        "ask-model: CallModel: does not catch ModelThrottled back to the gate",
    ]


def test_nothing_retries_what_cannot_heal(project: Project) -> None:
    hold(hopeless_retries(project))


def test_a_hopeless_retry_is_named(project: Project) -> None:
    def alter(definition: Json) -> None:
        definition["States"]["Admit"]["Retry"][0]["ErrorEquals"] = ["BudgetExceeded"]

    assert list(hopeless_retries(project.with_machine("ask-model", alter))) == [
        "ask-model: Admit: retries BudgetExceeded, which cannot heal"
    ]


def test_a_states_timeout_is_retried_only_where_nothing_can_happen_twice(project: Project) -> None:
    hold(unsafe_timeouts(project))


def test_a_retried_timeout_of_a_callback_or_an_effect_is_named(project: Project) -> None:
    def on_callback(definition: Json) -> None:
        definition["States"]["Admit"]["Retry"][2]["ErrorEquals"].append(TIMEOUT)

    def on_effect(definition: Json) -> None:
        definition["States"]["PersistAnswer"]["Retry"][2]["ErrorEquals"].append(TIMEOUT)

    altered = project.with_machine("ask-model", on_callback)
    altered = altered.with_machine("answer-question", on_effect)
    assert set(unsafe_timeouts(altered)) == {
        "ask-model: Admit: must not retry States.Timeout: its work may still go on",
        "answer-question: PersistAnswer: must not retry States.Timeout: its work may still go on",
    }


def test_a_call_in_progress_is_awaited_as_long_as_it_can_last(project: Project) -> None:
    hold(short_of_the_lease(project))


def test_too_short_a_wait_is_named(project: Project) -> None:
    def hurry(definition: Json) -> None:
        definition["States"]["CallModel"]["Retry"][3]["MaxAttempts"] = 3

    assert list(short_of_the_lease(project.with_machine("ask-model", hurry))) == [
        "ask-model: CallModel: waits 71 s for CallInProgress, the lease needs 300 s"
    ]


def test_a_longer_lease_has_to_be_awaited_longer(project: Project) -> None:
    altered = project.with_template(lambda t: t["Parameters"]["LeaseSeconds"].update(Default=600))
    assert [found.split(": waits")[0] for found in short_of_the_lease(altered)] == [
        "answer-question: RetrieveContext",
        "ask-model: CallModel",
        "ingest-documents: IngestBatches/EmbedChunks",
    ]


def test_a_state_waits_longer_than_its_function_or_child(project: Project) -> None:
    hold(late_functions(project))


def test_a_state_that_ends_before_its_function_is_named(project: Project) -> None:
    altered = project.with_template(
        lambda t: t["Resources"]["CallModelFunction"]["Properties"].update(Timeout=160)
    ).with_machine("answer-question", lambda d: d["States"]["AskModel"].update(TimeoutSeconds=9))
    assert set(late_functions(altered)) == {
        "answer-question: AskModel: TimeoutSeconds has to be over its child's and a margin",
        "ask-model: CallModel: TimeoutSeconds has to be over 170, its function's and a margin",
    }
