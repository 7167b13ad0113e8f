"""Whatever crashes, comes twice or comes late around a model call: what it costs, and who pays."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from autoops.calls import PaidCalls
from autoops.domain.admissions import AdmissionState, CallClaim, Limit
from autoops.domain.claims import claim_for_request
from autoops.domain.contracts import Contract, Json, Run, plain
from autoops.domain.ledger import OpenedRun, RunView
from autoops.domain.model import Message, ModelReply, ModelRequest, PromptVersion
from autoops.domain.pricing import Usage, price_of
from autoops.errors import CallInProgress, DependencyUnavailable
from local.lambdas.in_process import WorkerKilled
from local.stepfunctions.errors import ApiError
from workflows.bench import LEASE, MODEL, Bench, raising, reply

RUN: Final = Run(id="r1", root="answer-question:r1", workflow="answer-question", tenant="default")
CEILING: Final = 100_000_000
PATH: Final = f"{RUN.root}/AskModel/0"
GOOD: Final[Json] = {"answered": False, "text": "They do not say.", "citations": []}
USAGE: Final = Usage(input=100, output=20)
COST: Final = price_of(MODEL).actual(USAGE)
QUESTION: Final = ModelRequest(
    model=MODEL,
    prompt=PromptVersion(name="answer", version=1),
    system="Answer.",
    messages=(Message(role="user", blocks=("Why?",)),),
    answer="CitedAnswer",
    max_tokens=100,
)
CLAIM: Final = claim_for_request(f"{PATH}/0", QUESTION)
WORST: Final = CLAIM.worst

Meanwhile = Callable[[], None]


@dataclass
class Interrupted:
    """A model that answers, and while it works other things happen."""

    meanwhile: list[Meanwhile] = field(default_factory=list)
    asked: list[ModelRequest] = field(default_factory=list)

    def converse(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return reply(GOOD)


@dataclass
class Later:
    """A clock ahead of another one."""

    bench: Bench
    by: timedelta

    def now(self) -> datetime:
        return self.bench.now() + self.by


def started(bench: Bench, request: ModelRequest = QUESTION) -> dict[str, Any]:
    """The input of ask-model for the request, its run open."""
    opened = OpenedRun(run=RUN, execution="arn", ceiling=CEILING, opened_at=bench.now())
    bench.ledger.open_run(opened)
    return {
        "run": plain(RUN),
        "call": PATH,
        "request": plain(bench.artifacts.put("default", plain(request))),
        "corrections": 0,
    }


async def asked(bench: Bench, name: str = "ask", request: ModelRequest = QUESTION) -> Json:
    """Run ask-model to its end; the answer that it gave."""
    described = await bench.run("ask-model", started(bench, request), name)
    assert described["status"] == "SUCCEEDED", described
    return _answer(bench, described)


def balanced(bench: Bench, spent: int) -> RunView:
    """The run's record, once it is sure that all its money is spent or available."""
    view = bench.view(RUN.root)
    assert view.budget.spent == spent
    assert view.budget.reserved == 0
    assert view.budget.available == view.budget.ceiling - spent
    assert all(one.ended for one in view.admissions)
    return view


def another_worker(bench: Bench, ahead: timedelta = timedelta()) -> PaidCalls:
    """A worker of the same run whose clock is ahead of the bench's."""
    return PaidCalls(RUN, replace(bench.gate, clock=Later(bench, ahead)), bench.artifacts)


def _answer(bench: Bench, described: dict[str, Any]) -> Json:
    return json.loads(
        bench.artifacts.content[json.loads(described["output"])["answer"]["artifact"]]
    )


def _killed_once(act: Callable[..., Any], *, done: bool = False) -> Callable[..., Any]:
    """What kills its worker once, before it acts or when it has done its work."""
    left = [1]

    def killing(*given: Any, **named: Any) -> Any:
        if left and not done:
            left.pop()
            raise WorkerKilled
        acted = act(*given, **named)
        if left:
            left.pop()
            raise WorkerKilled
        return acted

    return killing


# --- Killed ---------------------------------------------------------------------------------------


async def test_killed_before_the_call_begins_nothing_is_charged_for_it(bench: Bench) -> None:
    bench.model.says = [reply(GOOD)]
    bench.before["CallModelFunction"] = [raising(WorkerKilled())]
    assert await asked(bench) == GOOD
    assert len(bench.model.asked) == 1
    assert balanced(bench, COST).admissions[0].lost == ()


async def test_killed_before_the_request_goes_out_the_attempt_counts_as_lost(bench: Bench) -> None:
    bench.model.says = [reply(GOOD)]
    bench.dynamodb.update_item = _killed_once(  # type: ignore[method-assign]  # dies once
        bench.dynamodb.update_item, done=True
    )
    assert await asked(bench) == GOOD
    assert len(bench.model.asked) == 1
    assert balanced(bench, WORST + COST).admissions[0].lost == (1,)


async def test_killed_while_the_provider_works_the_attempt_counts_as_lost_and_is_repeated_once(
    bench: Bench,
) -> None:
    bench.model.says = [WorkerKilled(), reply(GOOD)]
    assert await asked(bench) == GOOD
    assert len(bench.model.asked) == 2
    view = balanced(bench, WORST + COST)
    assert (view.admissions[0].state, view.admissions[0].lost) == (AdmissionState.SETTLED, (1,))
    assert [one.attempt for one in view.calls] == [2]


async def test_killed_between_reply_and_artifact_the_attempt_counts_as_lost(bench: Bench) -> None:
    bench.model.says = [reply(GOOD), reply(GOOD)]
    bench.artifacts.keep_reply = _killed_once(  # type: ignore[method-assign]  # dies once
        bench.artifacts.keep_reply
    )
    assert await asked(bench) == GOOD
    assert len(bench.model.asked) == 2
    balanced(bench, WORST + COST)


async def test_killed_between_artifact_and_settle_the_reply_is_settled_and_not_paid_again(
    bench: Bench,
) -> None:
    bench.model.says = [reply(GOOD)]
    bench.artifacts.keep_reply = _killed_once(  # type: ignore[method-assign]  # dies once
        bench.artifacts.keep_reply, done=True
    )
    assert await asked(bench) == GOOD
    assert len(bench.model.asked) == 1
    assert balanced(bench, COST).admissions[0].lost == ()


async def test_killed_between_settle_and_return_the_answer_comes_from_the_record(
    bench: Bench,
) -> None:
    bench.model.says = [reply(GOOD)]
    bench.after["CallModelFunction"] = [raising(WorkerKilled())]
    assert await asked(bench) == GOOD
    assert len(bench.model.asked) == 1
    balanced(bench, COST)


async def test_retried_after_success_whose_answer_got_lost_it_answers_from_the_record(
    bench: Bench,
) -> None:
    bench.model.says = [reply(GOOD)]
    lost = DependencyUnavailable("the connection broke after the work was done")
    bench.after["CallModelFunction"] = [raising(lost)]
    assert await asked(bench) == GOOD
    assert bench.invoked.count("CallModelFunction") == 2
    assert len(bench.model.asked) == 1
    balanced(bench, COST)


async def test_killed_between_the_grant_and_the_answer_to_the_token_it_is_asked_for_again(
    bench: Bench,
) -> None:
    bench.model.says = [reply(GOOD)]
    start = started(bench)
    bench.dynamodb.transact_write_items = _killed_once(  # type: ignore[method-assign]  # dies once
        bench.dynamodb.transact_write_items, done=True
    )
    described = await bench.run("ask-model", start, "ask")
    assert _answer(bench, described) == GOOD
    assert bench.invoked.count("AdmitFunction") == 2
    balanced(bench, COST)


async def test_a_call_without_any_known_outcome_is_made_twice_charged_twice_and_no_more(
    bench: Bench,
) -> None:
    bench.model.says = [WorkerKilled(), WorkerKilled(), reply(GOOD)]
    described = await bench.run("ask-model", started(bench), "ask")
    assert described["error"] == "OutcomeUnknown"
    assert len(bench.model.asked) == 2
    assert balanced(bench, 2 * WORST).admissions[0].lost == (1, 2)


# --- Twice ----------------------------------------------------------------------------------------


async def test_a_duplicate_start_event_starts_nothing_and_pays_nothing(farm: Bench) -> None:
    farm.model.says = [reply(GOOD)]
    start: dict[str, Json] = {"question": "what colour is the barn?"}
    first = farm.start("answer-question", start)
    assert farm.start("answer-question", start) == first
    described = await farm.engine.run_to_end(first)
    assert described["status"] == "SUCCEEDED"
    assert len(farm.model.asked) == 1
    with pytest.raises(ApiError):
        farm.start("answer-question", start)


async def test_two_executions_that_ask_for_one_call_share_it(bench: Bench) -> None:
    bench.model.says = [reply(GOOD)]
    first = bench.start("ask-model", started(bench), "first")
    second = bench.start("ask-model", started(bench), "second")
    described = [await bench.engine.run_to_end(each) for each in (first, second)]
    assert [_answer(bench, each) for each in described] == [GOOD, GOOD]
    assert len(bench.model.asked) == 1
    assert len(balanced(bench, COST).calls) == 1


async def test_a_second_worker_hears_that_the_call_is_in_progress(bench: Bench) -> None:
    heard: list[str] = []

    def second() -> None:
        with pytest.raises(CallInProgress) as told:
            another_worker(bench).make(CLAIM, lambda: pytest.fail("asked by two at once"))
        heard.append(str(told.value))

    bench.model = Interrupted([second])  # type: ignore[assignment]  # it converses
    assert await asked(bench) == GOOD
    assert len(heard) == 1
    assert len(bench.model.asked) == 1
    balanced(bench, COST)


async def test_a_late_zombie_gives_way_to_its_successor_and_both_are_paid_as_they_cost(
    bench: Bench,
) -> None:
    successor = another_worker(bench, LEASE + timedelta(seconds=1))
    model = Interrupted([lambda: _made(successor, CLAIM)])
    bench.model = model  # type: ignore[assignment]  # it converses
    assert await asked(bench) == GOOD
    view = balanced(bench, 2 * COST)
    assert [one.attempt for one in view.calls] == [2], (
        "the successor's reply is the one that counts"
    )
    assert view.admissions[0].lost == (), "what the zombie cost is known"
    assert len(model.asked) == 1, "it was made once by the zombie and once by its successor"


async def test_a_zombie_later_than_the_end_of_its_call_is_paid_as_it_cost_and_answers(
    bench: Bench,
) -> None:
    def lost() -> None:
        late = another_worker(bench, LEASE + timedelta(seconds=1))
        (calling,) = late.gate.admissions.of_run(RUN.root)
        assert late.gate.admissions.lose(calling)

    bench.model = Interrupted([lost])  # type: ignore[assignment]  # it converses
    assert await asked(bench) == GOOD
    assert len(bench.model.asked) == 1, "its reply is kept and paid"
    balanced(bench, COST)


async def test_a_zombie_paid_late_answers_for_the_successor_that_died(bench: Bench) -> None:
    def taken_over_and_killed() -> None:
        successor = another_worker(bench, LEASE + timedelta(seconds=1))
        with pytest.raises(WorkerKilled):
            successor.make(CLAIM, _dies)

    bench.model = Interrupted([taken_over_and_killed])  # type: ignore[assignment]  # it converses
    assert await asked(bench) == GOOD
    assert len(bench.model.asked) == 1, "the zombie's reply is kept and paid"
    assert balanced(bench, COST + WORST).admissions[0].lost == (2,)


def _dies() -> ModelReply:
    raise WorkerKilled


def _made(worker: PaidCalls, claim: CallClaim) -> None:
    _, record = worker.make(claim, lambda: reply(GOOD))
    assert record.attempt == 2


# --- Redriven -------------------------------------------------------------------------------------


async def test_redriven_after_its_worker_died_behind_the_settle_it_answers_from_the_record(
    farm: Bench,
) -> None:
    farm.model.says = [reply(GOOD)]
    farm.after["CallModelFunction"] = [raising(WorkerKilled()) for _ in range(3)]
    start: dict[str, Json] = {"question": "what colour is the barn?"}
    failed = await farm.run("answer-question", start)
    assert failed["status"] == "FAILED"
    farm.engine.redrive_execution(failed["executionArn"])
    described = await farm.engine.run_to_end(failed["executionArn"])
    await farm.rules.idle()
    assert described["status"] == "SUCCEEDED", described
    assert len(farm.model.asked) == 1
    view = farm.view(RUN.root)
    assert (view.status, view.budget.reserved) == ("SUCCEEDED", 0)
    assert view.budget.spent == sum(one.cost for one in view.calls)


async def test_redriven_after_an_unknown_outcome_the_call_is_made_anew_and_all_is_charged(
    bench: Bench,
) -> None:
    bench.model.says = [WorkerKilled(), WorkerKilled(), reply(GOOD)]
    failed = await bench.run("ask-model", started(bench), "ask")
    assert failed["error"] == "OutcomeUnknown"
    bench.engine.redrive_execution(failed["executionArn"])
    described = await bench.engine.run_to_end(failed["executionArn"])
    assert described["status"] == "SUCCEEDED", described
    assert _answer(bench, described) == GOOD
    assert len(bench.model.asked) == 3
    view = balanced(bench, 2 * WORST + COST)
    assert [one.attempt for one in view.calls] == [3]


# --- What it takes --------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [None, 8])
async def test_a_call_while_nobody_waits_takes_at_most_five_calls_to_the_table(
    bench: Bench, slots: int | None
) -> None:
    bench.limits[MODEL] = Limit(concurrency=slots)
    bench.model.says = [reply(GOOD)]
    start = started(bench)
    bench.dynamodb.calls.clear()
    await bench.run("ask-model", start, "ask")
    grant, begin, settle, look, step = (
        "transact_write_items",
        "update_item",
        "transact_write_items",
        "query",
        "put_item",
    )
    queue = [look] if slots else []
    assert bench.dynamodb.calls == [grant, begin, settle, *queue, step]


# --- One call or several --------------------------------------------------------------------------


async def test_five_equal_samples_in_a_map_are_five_calls(bench: Bench) -> None:
    bench.model.says = [reply(GOOD) for _ in range(5)]
    arn = bench.engine.create_state_machine(
        name="samples", definition=json.dumps(_samples(bench.machines["ask-model"]))
    )
    execution = bench.engine.start_execution(arn, json.dumps(started(bench)), "samples")
    described = await bench.engine.run_to_end(execution)
    assert described["status"] == "SUCCEEDED", described
    assert len(bench.model.asked) == 5
    view = balanced(bench, 5 * COST)
    assert sorted(one.call for one in view.calls) == [f"{PATH}/{n}/0" for n in range(5)]
    assert len({one.fingerprint for one in view.calls}) == 1, "they are equal"


def _samples(machine: str) -> Json:
    """A machine that asks the same five times at once."""
    given = {
        "run": "{% $run %}",
        "request": "{% $request %}",
        "call": "{% $call & '/' & $index %}",
        "corrections": 0,
    }
    sample = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Arguments": {"StateMachineArn": machine, "Input": given},
        "End": True,
    }
    each = {
        "Type": "Map",
        "Items": "{% [0..4] %}",
        "ItemSelector": {"index": "{% $states.context.Map.Item.Index %}"},
        "ItemProcessor": {
            "StartAt": "Number",
            "States": {
                "Number": {
                    "Type": "Pass",
                    "Assign": {"index": "{% $states.input.index %}"},
                    "Next": "Sample",
                },
                "Sample": sample,
            },
        },
        "End": True,
    }
    begin = {
        "Type": "Pass",
        "Assign": {name: f"{{% $states.input.{name} %}}" for name in ("run", "request", "call")},
        "Next": "Samples",
    }
    return {
        "QueryLanguage": "JSONata",
        "StartAt": "Begin",
        "States": {"Begin": begin, "Samples": each},
    }


CHANGES: Final[dict[str, dict[str, Any]]] = {
    "prompt": {"prompt": PromptVersion(name="answer", version=2)},
    "words": {"system": "Answer briefly."},
    "model": {"model": "amazon.nova-micro-v1:0"},
    "schema": {"answer": "Verdict"},
    "temperature": {"temperature": 0.5},
}


class Verdict(Contract):
    """Another contract that an answer may have to hold."""

    answered: bool
    text: str
    citations: tuple[str, ...]


@pytest.mark.parametrize("changed", CHANGES)
async def test_a_changed_request_on_the_same_path_is_a_new_call(
    bench: Bench, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoops.domain.answers.ANSWERS", {**_answers(), "Verdict": Verdict})
    bench.model.says = [reply(GOOD), reply(GOOD)]
    other = QUESTION.model_copy(update=CHANGES[changed])
    await asked(bench, "before")
    await asked(bench, "after", other)
    assert bench.model.asked == [QUESTION, other]
    (record,) = balanced(bench, COST + price_of(other.model).actual(USAGE)).calls
    assert record.fingerprint == claim_for_request(f"{PATH}/0", other).fingerprint


def _answers() -> dict[str, type[Contract]]:
    from autoops.domain.answers import ANSWERS

    return dict(ANSWERS)
