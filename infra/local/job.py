"""The main job on the laptop: documents in, a question asked, the cited answer and its record."""

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from autoops.adapters.dynamodb import DynamoLedger
from autoops.adapters.s3 import S3Artifacts
from autoops.adapters.table import Table
from autoops.domain.contracts import Json, plain
from autoops.domain.ledger import RunView
from autoops.domain.references import Reference
from autoops.domain.results import Answer, IngestedDocument, Outcome
from local.corpus import Corpus
from local.stack import Stack
from local.stepfunctions.events import Event
from local.timeline import ENDED

TENANT: Final = "default"
DEEPEST: Final = 5

Watch = Callable[[str, Event], None]


class RunFailedError(Exception):
    """The run ended without a result.

    Attributes:
        error: the name of the error that ended it, the innermost one.
        cause: its sentence.
        record: the file with its executions' histories and its ledger.
    """

    def __init__(self, error: str, cause: str, record: Path) -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error
        self.cause = cause
        self.record = record


@dataclass(frozen=True)
class Finished:
    """A run that ended.

    Attributes:
        record: the file with its executions' histories and its ledger.
    """

    execution: str
    output: Mapping[str, Any]
    ledger: RunView
    record: Path


@dataclass(frozen=True)
class Job:
    """Starts workflows on a running stack.

    boto3 blocks and the stack answers on this very loop, so each call of a client is in a thread.
    """

    stack: Stack

    async def ingest(self, corpus: Corpus, watch: Watch) -> tuple[IngestedDocument, ...]:
        """Upload the documents and make them searchable; what became of each of them.

        Raises:
            RunFailedError: the run failed.
        """
        for document in corpus.documents:
            key = f"{TENANT}/{document.key}"
            self.stack.moto.put_object(self.stack.settings.documents_bucket, key, document.content)
        finished = await self.run("ingest-documents", {"tenant": TENANT}, watch)
        return await asyncio.to_thread(self._reports, finished)

    async def ask(
        self, question: str, budget: str | None, watch: Watch
    ) -> tuple[Outcome, Answer, Finished]:
        """Ask a question under a budget in dollars; None for the workflow's own.

        Raises:
            RunFailedError: the run failed; its record is written all the same.
        """
        kept = await asyncio.to_thread(self._artifacts.put, TENANT, question)
        start: dict[str, Any] = {"tenant": TENANT, "question": plain(kept)}
        if budget is not None:
            start["budget"] = budget
        finished = await self.run("answer-question", start, watch)
        said = await asyncio.to_thread(self._value, finished.output["answer"])
        return Outcome(finished.output["outcome"]), Answer.read(said), finished

    async def run(self, workflow: str, start: Mapping[str, Any], watch: Watch) -> Finished:
        """Start a workflow, wait for its end, write its record.

        Raises:
            RunFailedError: it ended in another way than success.
        """
        moment = self.stack.clock.now().strftime("%Y%m%d-%H%M%S")
        name = f"{workflow}-{moment}-{secrets.token_hex(3)}"
        ended = asyncio.Event()
        execution = self.stack.execution_arn(workflow, name)

        def see(of: str, event: Event) -> None:
            watch(of, event)
            if of == execution and event.type in ENDED:
                ended.set()

        with self.stack.watching(see):
            self.stack.engine.start_execution(
                self.stack.machines[workflow], json.dumps(start), name
            )
            await ended.wait()
        await self.stack.settled()
        return await asyncio.to_thread(self._finished, workflow, name, execution)

    def _reports(self, finished: Finished) -> tuple[IngestedDocument, ...]:
        return tuple(
            IngestedDocument.read(one)
            for reference in finished.output["reports"]
            for one in self._value(reference)
        )

    def _value(self, reference: Json) -> Json:
        return self._artifacts.get(TENANT, Reference.read(reference))

    def _finished(self, workflow: str, name: str, execution: str) -> Finished:
        described = self.stack.engine.describe_execution(execution)
        view = self._ledger.view(f"{workflow}:{name}")
        record = self._write_record(name, execution, view)
        if described["status"] != "SUCCEEDED" or view is None:
            error, cause = innermost(
                described.get("error", described["status"]), described.get("cause", "")
            )
            raise RunFailedError(error, cause, record)
        return Finished(execution, json.loads(described["output"]), view, record)

    def _write_record(self, name: str, execution: str, view: RunView | None) -> Path:
        folder = self.stack.state_folder / "runs"
        folder.mkdir(parents=True, exist_ok=True)
        record = folder / f"{name}.json"
        executions = [self._execution(arn) for arn in self._family(execution)]
        content = {"executions": executions, "ledger": plain(view)}
        record.write_text(json.dumps(plain(content), indent=2, ensure_ascii=False) + "\n", "utf-8")
        return record

    def _execution(self, arn: str) -> dict[str, Any]:
        events = self.stack.engine.get_execution_history(arn)
        described = self.stack.engine.describe_execution(arn)
        return {"describe": described, "history": {"events": events}}

    def _family(self, execution: str) -> list[str]:
        """The execution and all that it started, parents before children."""
        family = [execution]
        for arn in family:
            family.extend(self.stack.children(arn))
        return family

    @property
    def _artifacts(self) -> S3Artifacts:
        return S3Artifacts(self.stack.client("s3"), self.stack.settings.artifacts_bucket)

    @property
    def _ledger(self) -> DynamoLedger:
        return DynamoLedger(Table(self.stack.client("dynamodb"), self.stack.settings.ledger_table))


def innermost(error: str, cause: str) -> tuple[str, str]:
    """The error that a failed child or function names in its cause, as deep as there is one."""
    for _ in range(DEEPEST):
        try:
            told = json.loads(cause)
        except ValueError:
            break
        if not isinstance(told, dict):
            break
        if "errorType" in told:
            return str(told["errorType"]), str(told.get("errorMessage", ""))
        error, cause = str(told.get("Error", error)), str(told.get("Cause", ""))
    return error, cause
