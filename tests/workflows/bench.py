"""Whole machines in virtual time: the shipped definitions and handlers, fakes at the edge."""

import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from autoops.adapters.admissions import DynamoAdmissions
from autoops.adapters.catalogue import DynamoCatalogue
from autoops.adapters.dynamodb import DynamoLedger
from autoops.adapters.readers import text_of
from autoops.adapters.stepfunctions import GONE
from autoops.adapters.table import Table
from autoops.domain.admissions import AdmissionState, Limit
from autoops.domain.contracts import Json, to_json
from autoops.domain.ledger import RunView
from autoops.domain.model import ModelReply, ModelRequest
from autoops.domain.passages import (
    Chunk,
    DocumentState,
    DocumentText,
    EmbeddedChunk,
    Embeddings,
    Passage,
)
from autoops.domain.pricing import Usage
from autoops.domain.references import Reference, artifact_key
from autoops.domain.vectors import Vectors
from autoops.gate import Gate
from autoops.lambda_runtime import StepHandler
from fake_dynamodb import FakeDynamoDB
from local.lambdas.in_process import InProcessLambdas
from local.rules import Rules
from local.stepfunctions.clock import VirtualClock
from local.stepfunctions.engine import Engine
from local.stepfunctions.errors import ApiError
from local.stepfunctions.events import Event
from local.stepfunctions.integrations.runner import Integrations
from local.template.template import Template

ROOT: Final = Path(__file__).parents[2]
MODEL: Final = "amazon.nova-lite-v1:0"
EMBEDDER: Final = "amazon.titan-embed-text-v2:0"
SETTINGS: Final = {"ChatModel": MODEL, "EmbeddingModel": EMBEDDER, "EmbeddingDimensions": "2"}
LEASE: Final = timedelta(seconds=90)
OWN: Final = ("ledger", "artifacts", "clock", "run_once")
"""Ports that the runtime itself uses, whether or not the step asks for them."""

Hook = Callable[[], None]


class Artifacts:
    """Values and replies in memory."""

    def __init__(self) -> None:
        self.content: dict[str, str] = {}

    def put(self, tenant: str, value: Json) -> Reference:
        text = to_json(value)
        key = artifact_key(tenant, text.encode())
        self.content[key] = text
        return Reference(artifact=key, bytes=len(text.encode()))

    def get(self, tenant: str, reference: Reference) -> Json:
        assert reference.artifact.startswith(f"{tenant}/")
        return json.loads(self.content[reference.artifact])

    def keep_reply(self, key: str, reply: ModelReply) -> None:
        self.content[key] = to_json(reply)

    def reply(self, key: str) -> ModelReply | None:
        text = self.content.get(key)
        return None if text is None else ModelReply.model_validate_json(text)


@dataclass
class Model:
    """Says what it is told, in order; an exception is raised instead."""

    says: list[ModelReply | BaseException] = field(default_factory=list)
    asked: list[ModelRequest] = field(default_factory=list)

    def converse(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        said = self.says.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said


@dataclass
class Embedder:
    """Two dimensions: length and number of vowels."""

    model: str = EMBEDDER
    dimensions: int = 2
    asked: list[Sequence[str]] = field(default_factory=list)

    def embed(self, texts: Sequence[str]) -> Embeddings:
        self.asked.append(texts)
        return Embeddings(
            vectors=Vectors.pack(
                [
                    (float(len(text)), 1.0 + sum(text.count(vowel) for vowel in "aeiou"))
                    for text in texts
                ]
            ),
            usage=Usage(input=sum(len(text) for text in texts)),
        )


@dataclass
class Index:
    """Finds the chunks that share most words with the question."""

    chunks: dict[str, Chunk] = field(default_factory=dict)

    def put(self, chunks: Sequence[EmbeddedChunk]) -> None:
        self.chunks |= {one.chunk.key: one.chunk for one in chunks}

    def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.chunks.pop(key, None)

    def query(
        self, tenant: str, text: str, vector: Sequence[float], most: int
    ) -> tuple[Passage, ...]:
        del vector
        words = set(text.lower().split())
        scored = [
            (len(words & set(chunk.text.lower().split())), chunk)
            for key, chunk in sorted(self.chunks.items())
            if key.startswith(f"{tenant}/")
        ]
        best = sorted((one for one in scored if one[0]), key=lambda one: -one[0])[:most]
        return tuple(
            Passage(id=f"p{number}", chunk=chunk, score=float(score))
            for number, (score, chunk) in enumerate(best, start=1)
        )


@dataclass
class Documents:
    """A bucket in memory."""

    files: dict[str, bytes] = field(default_factory=dict)

    def list(self, tenant: str, prefix: str) -> tuple[tuple[str, int], ...]:
        del tenant
        return tuple(
            (key, len(content))
            for key, content in sorted(self.files.items())
            if key.startswith(prefix)
        )

    def read(self, tenant: str, key: str) -> DocumentText:
        del tenant
        if key not in self.files:
            return DocumentText(document=key, title=key, state=DocumentState.SKIPPED_DELETED)
        return text_of(key, self.files[key])


class Bench:
    """An engine in virtual time with every shipped machine and handler.

    Attributes:
        dynamodb: the table behind the real ledger.
        before: hooks by function, one used up by each invocation ahead of the handler.
        after: the same, when the handler has done its work.
        invoked: names of the functions invoked so far.
        limits: what calls share, by model.
        deaf: so many answers to tokens get lost on their way.
    """

    def __init__(self) -> None:
        self.dynamodb = FakeDynamoDB()
        self.artifacts = Artifacts()
        self.model = Model()
        self.embedder = Embedder()
        self.index = Index()
        self.documents = Documents()
        self.published: list[tuple[str, Json]] = []
        self.before: dict[str, list[Hook]] = {}
        self.after: dict[str, list[Hook]] = {}
        self.invoked: list[str] = []
        self.deaf = 0
        self.template = Template.load(ROOT / "template.yaml", SETTINGS)
        self.table = Table(self.dynamodb, "Ledger", no_sleep)  # type: ignore[arg-type]  # a fake
        self.ledger = DynamoLedger(self.table)
        self.limits = dict[str, Limit]()
        self.gate = Gate(
            DynamoAdmissions(self.table, self.limits), self.ledger, self, self, self, LEASE
        )
        self.catalogue = DynamoCatalogue(self.table)
        self._done: dict[str, Json] = {}
        lambdas = InProcessLambdas({name: self._handler(name) for name in self.template.functions})
        self.engine = Engine(Integrations(lambdas), clock=VirtualClock(), seed=1)
        self.machines: dict[str, str] = {}
        for machine in self.template.machines.values():
            arn = self.engine.create_state_machine(name=machine.name, definition=machine.definition)
            self.engine.publish_version(arn)
            self.machines[machine.name.removeprefix("autoops-")] = arn
        self.rules = Rules(self.template.rules.values(), lambdas)
        self.engine.on_status_change(self.rules.status_changed)

    @staticmethod
    def _answered(answer: Callable[[], None]) -> bool:
        try:
            answer()
        except ApiError as error:
            if error.code in GONE:
                return False
            raise
        return True

    async def run(
        self, workflow: str, start: Mapping[str, Json], name: str = "r1"
    ) -> dict[str, Any]:
        """Start a workflow and let virtual time pass until it ends; describes it."""
        described = await self.engine.run_to_end(self.start(workflow, start, name))
        await self.rules.idle()
        return described

    def start(self, workflow: str, start: Mapping[str, Json], name: str = "r1") -> str:
        """Start a workflow; the execution's ARN."""
        return self.engine.start_execution(self.machines[workflow], json.dumps(start), name)

    def view(self, root: str) -> RunView:
        """The run as its ledger tells it."""
        view = self.ledger.view(root)
        assert view is not None, f"{root} never opened"
        return view

    def events(self) -> Iterable[Event]:
        """The history events of all executions."""
        for machine in self.engine.machines:
            for summary in self.engine.summaries(machine):
                yield from self.engine.history(summary["executionArn"])

    def slots(self, model: str) -> int:
        """Slots of the model that are held."""
        return sum(
            int(item["held"]["N"])
            for (partition, sort), item in self.dynamodb.items.items()
            if partition == f"LIMIT#{model}" and sort.startswith("SLOT#")
        )

    def block(self, model: str) -> Hook:
        """Take the model's first slot, as a call of another run would; call it to give it back."""
        key = (f"LIMIT#{model}", "SLOT#0")
        self.dynamodb.items[key] = {"PK": {"S": key[0]}, "SK": {"S": key[1]}, "held": {"N": "1"}}

        def free() -> None:
            self.dynamodb.items[key]["held"] = {"N": "0"}
            self.gate.serve(model)

        return free

    def watch_calls(self, hook: Hook) -> None:
        """Call the hook whenever the model is asked."""
        converse = self.model.converse

        def watched(request: ModelRequest) -> ModelReply:
            hook()
            return converse(request)

        self.model.converse = watched  # type: ignore[method-assign]  # of this one object

    def calling(self) -> str:
        """The run whose call is being made."""
        (one,) = (a for a in self.gate.admissions.open() if a.state is AdmissionState.CALLING)
        return one.run.id

    def seconds(self, execution: str) -> float:
        """How long an execution took, in virtual time."""
        history = self.engine.history(execution)
        return (history[-1].timestamp - history[0].timestamp) / 1000

    def now(self) -> datetime:
        """Clock: the virtual time."""
        return datetime.fromtimestamp(self.engine.clock.now() / 1000, UTC)

    def publish(self, kind: str, detail: Json) -> None:
        """Events: remember what was published."""
        self.published.append((kind, detail))

    def count(self, request: ModelRequest) -> int | None:
        """TokenCounter: it cannot tell."""
        del request
        return None

    def succeed(self, token: str, output: Json) -> bool:
        """Workflows: answer a token."""
        if self.deaf:
            self.deaf -= 1
            return True
        return self._answered(lambda: self.engine.send_task_success(token, to_json(output)))

    def fail(self, token: str, error: str, cause: str) -> bool:
        """Workflows: fail the state that waits for a token."""
        return self._answered(lambda: self.engine.send_task_failure(token, error, cause))

    def redrive_running(self, execution: str) -> int | None:
        """Workflows: the redrive count of a running execution."""
        described = self.engine.describe_execution(execution)
        return described["redriveCount"] if described["status"] == "RUNNING" else None

    def stop(self, execution: str, error: str, cause: str) -> None:
        """Workflows: end an execution."""
        self.engine.stop_execution(execution, error, cause)

    def redrive(self, execution: str) -> None:
        """Workflows: go on with an execution that failed."""
        self.engine.redrive_execution(execution)

    def sweep(self) -> int:
        """What the schedule does each minute; how many admissions moved."""
        handler = self._handler("SweepFunction")
        moved: int = handler({"detail": {}}, None)["moved"]
        return moved

    def run_once(self, identity: str, work: Callable[[], Json], context: object) -> Json:
        """Idempotency: in memory."""
        del context
        if identity not in self._done:
            self._done[identity] = work()
        return self._done[identity]

    def _port(self, name: str) -> Any:
        fakes: dict[str, Any] = {
            "ledger": self.ledger,
            "gate": self.gate,
            "counter": self,
            "catalogue": self.catalogue,
            "artifacts": self.artifacts,
            "model": self.model,
            "embedder": self.embedder,
            "index": self.index,
            "documents": self.documents,
            "events": self,
            "workflows": self,
            "clock": self,
            "run_once": self.run_once,
            "account_ceiling": 10_000_000_000,
            "embedding_model": EMBEDDER,
            "chat_model": MODEL,
            "machine_prefix": "autoops-",
        }
        return fakes[name]

    def _handler(self, name: str) -> Callable[[Json, Any], Json]:
        module, attribute = self.template.functions[name].handler.rsplit(".", 1)
        shipped = getattr(importlib.import_module(module), attribute)
        own = OWN if isinstance(shipped, StepHandler) else ()
        wanted = {*shipped.ports, *own}
        handler = shipped.with_ports(**{port: _giving(self._port, port) for port in wanted})

        def call(event: Json, context: Any) -> Json:
            self.invoked.append(name)
            _next(self.before, name)
            answer = handler(event, context)
            _next(self.after, name)
            return answer

        return call


def reply(answer: Json, *, tokens: tuple[int, int] = (100, 20)) -> ModelReply:
    """A reply that fills the answer tool."""
    usage = Usage(input=tokens[0], output=tokens[1])
    return ModelReply(stop_reason="tool_use", text="", tool_input=answer, usage=usage)


def no_sleep(seconds: float) -> None:
    """Time stands still while a handler works."""
    del seconds


def raising(error: BaseException) -> Hook:
    """A hook that raises."""

    def hook() -> None:
        raise error

    return hook


def _giving(port: Callable[[str], Any], name: str) -> Callable[[], Any]:
    return lambda: port(name)


def _next(hooks: dict[str, list[Hook]], name: str) -> None:
    if hooks.get(name):
        hooks[name].pop(0)()
