"""ask-model by itself: the guarded, self-correcting call that every workflow uses."""

import json
from typing import Any

from autoops.domain.contracts import Run, plain
from autoops.domain.ledger import OpenedRun
from autoops.domain.model import Message, ModelRequest, PromptVersion
from autoops.errors import ModelNotAllowed
from workflows.bench import MODEL, Bench, reply

RUN = Run(id="r1", root="answer-question:r1", workflow="answer-question", tenant="default")
GOOD = {"answered": False, "text": "They do not say.", "citations": []}


def _start(bench: Bench, corrections: int = 2) -> dict[str, Any]:
    opened = OpenedRun(run=RUN, execution="arn", ceiling=100_000_000, opened_at=bench.now())
    bench.ledger.open_run(opened)
    request = ModelRequest(
        model=MODEL,
        prompt=PromptVersion(name="answer", version=1),
        system="Answer.",
        messages=(Message(role="user", blocks=("Why?",)),),
        answer="CitedAnswer",
        max_tokens=100,
    )
    return {
        "run": plain(RUN),
        "call": f"{RUN.root}/AskModel/0",
        "request": plain(bench.artifacts.put("default", plain(request))),
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
