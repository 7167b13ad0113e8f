"""What people ask, what documents hold and what models say lies in the stores for it alone."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from local.bedrock.scripts import Scripted
from local.corpus import Corpus, SourceDocument
from local.job import Job, RunFailedError
from local.stack import ROOT, Stack, running_stack
from local.stepfunctions.events import Event

MODEL: Final = "amazon.nova-lite-v1:0"
QUESTION: Final = "canary-question-5d1c"
DOCUMENT: Final = "canary-document-88e0"
ANSWER: Final = "canary-answer-1b7f"
WRONG: Final = "canary-wrong-c04a"
EMF: Final = "CloudWatchMetrics"
"""What a line of the log holds that CloudWatch turns into metrics."""
CANARIES: Final = (QUESTION, DOCUMENT, ANSWER, WRONG)
SENTENCE: Final = f"The barn {DOCUMENT} of the farm is painted red."
GOOD: Final = {
    "answered": True,
    "text": f"It is red, {ANSWER}.",
    "citations": [{"passage": "p1", "quote": SENTENCE}],
}
ASKED: Final = f"What colour is the barn {QUESTION}?"


STATEMENT: Final = "    said = given.answer\n"
CRASH: Final = "    raise KeyError(given.answer.text)\n"


@dataclass
class Seen:
    """What passed by anyone who watches a stack.

    Attributes:
        recorded: history events, as they were recorded.
        statuses: details of the status events that EventBridge carries.
        events: entries that functions put on buses.
    """

    recorded: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    def watch(self, execution: str, event: Event) -> None:
        self.recorded.append(f"{execution} {event!r}")

    def attach(self, stack: Stack) -> None:
        stack.engine.on_status_change(lambda detail: self.statuses.append(str(detail)))
        stack.moto.on_events = lambda entries: self.events.append(str(entries))


@asynccontextmanager
async def running(folder: Path, root: Path = ROOT) -> AsyncIterator[tuple[Stack, Seen]]:
    async with running_stack(
        root=root, state_folder=folder, overrides={"ChatModel": MODEL}
    ) as stack:
        seen = Seen()
        seen.attach(stack)
        document = f"{SENTENCE} The house is white."
        corpus = Corpus("a farm", (SourceDocument("farm.txt", document.encode()),))
        await Job(stack).ingest(corpus, seen.watch)
        yield stack, seen


def histories(stack: Stack) -> Iterator[str]:
    """What GetExecutionHistory and DescribeExecution give of every execution."""
    sfn = stack.client("stepfunctions")
    for machine in stack.machines.values():
        for listed in sfn.list_executions(stateMachineArn=machine)["executions"]:
            arn = listed["executionArn"]
            yield json.dumps(sfn.describe_execution(executionArn=arn), default=str)
            for page in sfn.get_paginator("get_execution_history").paginate(executionArn=arn):
                yield json.dumps(page["events"], default=str)


def items(stack: Stack) -> Iterator[str]:
    for table in (stack.settings.ledger_table, stack.settings.idempotency_table):
        for page in stack.client("dynamodb").get_paginator("scan").paginate(TableName=table):
            yield json.dumps(page["Items"], default=str)


def objects(stack: Stack, bucket: str) -> str:
    s3 = stack.client("s3")
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
    bodies = [s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys]
    return "".join(body.decode() for body in bodies)


def vectors(stack: Stack) -> str:
    listed = stack.client("s3vectors").list_vectors(
        vectorBucketName=stack.settings.vector_bucket,
        indexName=stack.settings.vector_index,
        returnMetadata=True,
    )
    return json.dumps(listed["vectors"], default=str)


async def places(stack: Stack, seen: Seen, folder: Path) -> dict[str, str]:
    """Everything that is kept or sent, by where, without the stores made for content."""
    lines = (folder / "stack.log").read_text("utf-8").splitlines()
    return {
        "histories": "".join(await asyncio.to_thread(lambda: list(histories(stack)))),
        "tables": "".join(await asyncio.to_thread(lambda: list(items(stack)))),
        "history events": "".join(seen.recorded),
        "status events": "".join(seen.statuses),
        "events of functions": "".join(seen.events),
        "logs": "\n".join(lines),
        "metrics": "\n".join(line for line in lines if EMF in line),
        "records": "".join(one.read_text("utf-8") for one in (folder / "runs").glob("*.json")),
    }


def leaks(found: dict[str, str], canaries: tuple[str, ...] = CANARIES) -> list[str]:
    return [f"{place}: {one}" for place, text in found.items() for one in canaries if one in text]


def reply(answer: Mapping[str, Any]) -> Scripted:
    return Scripted(input=dict(answer))


async def test_content_lies_in_the_stores_for_it_and_nowhere_else(tmp_path: Path) -> None:
    async with running(tmp_path) as (stack, seen):
        wrong = {"answered": WRONG, "text": WRONG, "citations": [], WRONG: WRONG}
        stack.models.script(MODEL, [reply(wrong), reply(GOOD)])
        _, answer, finished = await Job(stack).ask(ASKED, None, seen.watch)
        assert ANSWER in answer.text
        called = [one.prompt for one in finished.ledger.calls if one.model == MODEL]
        assert called == ["answer@1", "answer@1"]
        found = await places(stack, seen, tmp_path)
        assert all(found.values()), "a place that holds nothing proves nothing"
        assert leaks(found) == []
        kept = await asyncio.to_thread(objects, stack, stack.settings.artifacts_bucket)
        assert all(canary in kept for canary in CANARIES)
        indexed = await asyncio.to_thread(vectors, stack)
        assert DOCUMENT in indexed
        assert not any(canary in indexed for canary in (QUESTION, ANSWER, WRONG))


async def test_an_answer_refused_to_the_end_leaks_no_more_than_a_good_one(tmp_path: Path) -> None:
    async with running(tmp_path) as (stack, seen):
        stack.models.script(MODEL, [Scripted(text=f"I would rather not, {WRONG}.")] * 3)
        with pytest.raises(RunFailedError) as failed:
            await Job(stack).ask(ASKED, None, seen.watch)
        assert failed.value.error == "OutputRejected"
        assert leaks({**await places(stack, seen, tmp_path), "error": str(failed.value)}) == []


async def test_a_step_that_crashes_over_content_names_type_and_place_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    async with running(folder, _crashing(tmp_path / "project")) as (stack, seen):
        stack.models.script(MODEL, [reply(GOOD)])
        with pytest.raises(RunFailedError) as failed:
            await Job(stack).ask(ASKED, None, seen.watch)
        assert failed.value.error == "StepFaulted"
        found = await places(stack, seen, folder)
        assert leaks({**found, "error": str(failed.value)}) == []
        assert "KeyError" in found["logs"]
        assert "post_process/step.py" in found["logs"]
        assert "StepsFailed" in found["metrics"]


def _crashing(root: Path) -> Path:
    """A copy of the project in which a step raises an error that holds the answer."""
    root.mkdir()
    for name in ("template.yaml", "statemachines", "infra"):
        (root / name).symlink_to(ROOT / name)
    shutil.copytree(
        ROOT / "functions", root / "functions", ignore=shutil.ignore_patterns("__pycache__")
    )
    step = root / "functions/steps/post_process/step.py"
    source = step.read_text("utf-8")
    assert STATEMENT in source
    step.write_text(source.replace(STATEMENT, CRASH), "utf-8")
    return root
