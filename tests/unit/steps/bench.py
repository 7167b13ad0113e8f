"""A bench to run any step on: its real handler, with every edge in memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from autoops.domain.admissions import CallClaim
from autoops.domain.claims import claim_for_request, claim_for_texts
from autoops.domain.contracts import Json, Run
from autoops.domain.ledger import RunView
from autoops.domain.model import ModelRequest
from autoops.domain.pricing import price_of
from fakes import (
    FakeCatalogue,
    FakeContext,
    FakeCounter,
    FakeDocuments,
    FakeEmbedder,
    FakeIndex,
    FakeModel,
    FakeOnce,
    sample_event,
)
from gate_bench import DOLLAR, GateBench

if TYPE_CHECKING:
    from autoops.lambda_runtime import StepHandler

CHAT_MODEL = "us.amazon.nova-lite-v1:0"
__all__ = ["CHAT_MODEL", "DOLLAR", "Bench", "cost_of"]


@dataclass
class Bench:
    """Every port, and what runs a step on them.

    Attributes:
        behind: ledger, gate and everything behind it.
    """

    behind: GateBench = field(default_factory=GateBench)
    run_once: FakeOnce = field(default_factory=FakeOnce)
    model: FakeModel = field(default_factory=FakeModel)
    counter: FakeCounter = field(default_factory=FakeCounter)
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    index: FakeIndex = field(default_factory=FakeIndex)
    catalogue: FakeCatalogue = field(default_factory=FakeCatalogue)
    documents: FakeDocuments = field(default_factory=FakeDocuments)
    settings: dict[str, Any] = field(
        default_factory=lambda: {
            "chat_model": CHAT_MODEL,
            "embedding_model": "amazon.titan-embed-text-v2:0",
            "account_ceiling": 10 * DOLLAR,
        }
    )

    def __post_init__(self) -> None:
        self.gate = self.behind.gate
        self.ledger = self.behind.ledger
        self.artifacts = self.behind.artifacts
        self.workflows = self.behind.workflows
        self.events = self.behind.events
        self.clock = self.behind.clock

    def ports(self) -> Mapping[str, Callable[[], Any]]:
        """Each port by the name that a step asks for it."""
        fakes = {
            name: value for name, value in vars(self).items() if name not in ("behind", "settings")
        }
        return {name: partial(_itself, value) for name, value in (fakes | self.settings).items()}

    def run(self, step: str, case: str = "ok", **changes: Json) -> Json:
        """What the step's handler returns for a sample event, its input changed."""
        event = sample_event(step, case)
        event["input"] |= changes
        return self.handle(step, event)

    def handle(self, step: str, event: Json) -> Json:
        """What the step's handler returns for an event."""
        handler: StepHandler = import_module(f"steps.{step}.handler").handler
        return handler.with_ports(**self.ports())(event, FakeContext())

    def open(self, step: str, case: str = "ok", ceiling: int = DOLLAR) -> Run:
        """Open the run of a sample event."""
        run = Run.read(sample_event(step, case)["run"])
        self.behind.open(run, ceiling)
        return run

    def admit(self, step: str, case: str = "ok", ceiling: int = DOLLAR) -> CallClaim:
        """Open the run of a sample event and admit the call that it is about."""
        run, given = self.open(step, case, ceiling), sample_event(step, case)["input"]
        claim = self.claim(given)
        self.behind.ask(run, claim, token=None)
        return claim

    def claim(self, given: Json) -> CallClaim:
        """The claim of the call in a step's input."""
        if "request" in given:
            request = ModelRequest.read(self.artifacts.value(given["request"]))
            return claim_for_request(given["call"], request)
        private = given.get("texts", given.get("question"))
        value = self.artifacts.value(private)
        texts = (value,) if isinstance(value, str) else value
        return claim_for_texts(given["call"], self.embedder.model, texts)

    def money(self, run: Run) -> tuple[int, int, int]:
        """Available, reserved, spent."""
        return self.behind.money(run)

    def view(self, root: str) -> RunView:
        """The run as its ledger tells it."""
        view = self.ledger.view(root)
        assert view is not None, f"{root} never opened"
        return view

    def value(self, payload: Json) -> Json:
        """What a reference in a payload stands for."""
        return self.artifacts.value(payload)


def _itself(value: Any) -> Any:
    return value


def cost_of(input_tokens: int, output_tokens: int) -> int:
    """What the chat model charges for a call."""
    price = price_of(CHAT_MODEL)
    return -(-(input_tokens * price.input + output_tokens * price.output) // 1_000_000)
