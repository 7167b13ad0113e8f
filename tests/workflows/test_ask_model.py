"""ask-model by itself: the guarded, self-correcting call that every workflow uses."""

import json
from typing import Any

import pytest

from autoops.domain.claims import claim_for_request
from autoops.domain.contracts import Run, plain
from autoops.domain.ledger import OpenedRun
from autoops.domain.model import Message, ModelRequest, PromptVersion
from autoops.domain.pricing import Usage, price_of
from autoops.errors import (
    ContextTooLong,
    GiveUp,
    ModelMisconfigured,
    ModelNotAllowed,
    ModelThrottled,
)
from workflows.bench import MODEL, Bench, reply

RUN = Run(id="r1", root="answer-question:r1", workflow="answer-question", tenant="default")
GOOD = {"answered": False, "text": "They do not say.", "citations": []}


REQUEST = ModelRequest(
    model=MODEL,
    prompt=PromptVersion(name="answer", version=1),
    system="Answer.",
    messages=(Message(role="user", blocks=("Why?",)),),
    answer="CitedAnswer",
    max_tokens=100,
)


def _start(bench: Bench, corrections: int = 2, ceiling: int = 100_000_000) -> dict[str, Any]:
    opened = OpenedRun(run=RUN, execution="arn", ceiling=ceiling, opened_at=bench.now())
    bench.ledger.open_run(opened)
    return {
        "run": plain(RUN),
        "call": f"{RUN.root}/AskModel/0",
        "request": plain(bench.artifacts.put("default", plain(REQUEST))),
        "corrections": corrections,
    }


async def test_output_says_which_call_answered_after_how_many_corrections(bench: Bench) -> None:
    bench.model.says = [reply({}), reply(GOOD)]
    described = await bench.run("ask-model", _start(bench))
    output = json.loads(described["output"])
    assert output["corrections"] == 1
    assert json.loads(bench.artifacts.content[output["answer"]["artifact"]]) == GOOD


async def test_no_corrections_allowed_means_one_call(bench: Bench) -> None:
    bench.model.says = [reply({})]
    described = await bench.run("ask-model", _start(bench, corrections=0))
    assert described["error"] == "OutputRejected"
    assert len(bench.model.asked) == 1


async def test_corrections_stop_at_the_ceiling_before_the_call_that_it_does_not_cover(
    bench: Bench,
) -> None:
    tokens = (1_500, 100)
    cost = price_of(MODEL).actual(Usage(input=tokens[0], output=tokens[1]))
    ceiling = 3 * cost + claim_for_request("call", REQUEST).worst - 1
    bench.model.says = [reply({"answered": "never"}, tokens=tokens)] * 6
    described = await bench.run("ask-model", _start(bench, 5, ceiling))
    assert described["error"] == "BudgetExceeded"
    assert len(bench.model.asked) == 3
    view = bench.view(RUN.root)
    assert view.budget.spent == 3 * cost < view.budget.ceiling
    assert view.error == "BudgetExceeded"


@pytest.mark.parametrize("error", [ModelMisconfigured, ModelNotAllowed, ContextTooLong])
async def test_what_the_model_refuses_for_good_is_one_call_and_costs_nothing(
    bench: Bench, error: type[GiveUp]
) -> None:
    bench.model.says = [error("no"), reply(GOOD)]
    described = await bench.run("ask-model", _start(bench))
    assert described["error"] == error.__name__
    assert len(bench.model.asked) == 1
    assert bench.view(RUN.root).budget.spent == 0


async def test_a_model_that_refuses_for_rate_without_end_fails_the_run_and_never_succeeds(
    bench: Bench,
) -> None:
    bench.model.says = [ModelThrottled("bedrock: ThrottlingException")] * 99
    described = await bench.run("ask-model", _start(bench))
    assert (described["status"], described["error"]) == ("FAILED", "ModelThrottled")
    assert 1 < len(bench.model.asked) <= 10, "attempts are counted"
    assert bench.seconds(described["executionArn"]) > 5, "and waited between"
    view = bench.view(RUN.root)
    assert (view.budget.spent, view.calls) == (0, ())


async def test_a_call_that_may_not_be_made_gives_its_money_back_and_is_admitted_anew_on_redrive(
    bench: Bench,
) -> None:
    bench.model.says = [ModelNotAllowed("no access"), reply(GOOD)]
    start = _start(bench)
    described = await bench.run("ask-model", start)
    assert described["error"] == "ModelNotAllowed"
    assert bench.view(RUN.root).budget.available == 100_000_000
    bench.engine.redrive_execution(described["executionArn"])
    described = await bench.engine.run_to_end(described["executionArn"])
    assert described["status"] == "SUCCEEDED"
    assert bench.view(RUN.root).budget.reserved == 0


async def test_the_same_call_path_again_answers_from_the_record(bench: Bench) -> None:
    bench.model.says = [reply(GOOD)]
    start = _start(bench)
    first = await bench.run("ask-model", start, "first")
    second = await bench.run("ask-model", start, "second")
    assert json.loads(first["output"])["answer"] == json.loads(second["output"])["answer"]
    assert len(bench.model.asked) == 1
    assert len(bench.view(RUN.root).calls) == 1
