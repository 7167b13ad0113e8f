"""The laptop's AWS, whole: made from the template, served on one port, gone without a trace."""

import asyncio
import contextlib
import functools
import json
import os
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from autoops.adapters.clock import SystemClock
from autoops.config import Settings
from local.asgi import ASGIApp
from local.aws import Moto, moto_services
from local.bedrock.app import bedrock_app
from local.bedrock.extractive.model import warm
from local.bedrock.models import Models
from local.constants import REGION
from local.gateway import bind, gateway, serving, url_of
from local.lambdas.api import lambda_app
from local.lambdas.functions import ISOLATION
from local.lambdas.service import Lambdas
from local.lambdas.service import Settings as LambdaSettings
from local.models import ModelServer, parameters, served_models
from local.resources import functions_of, make_machines, make_stores
from local.rules import Rules
from local.stepfunctions.api.app import stepfunctions_app
from local.stepfunctions.engine import Engine
from local.stepfunctions.events import Event
from local.stepfunctions.integrations.runner import Integrations
from local.template.template import Template
from local.vectors.app import vectors_app
from local.vectors.store import VectorStore

ROOT: Final = Path(__file__).parents[2]
STACK_NAME: Final = "autoops"
Watch = Callable[[str, Event], None]


@dataclass
class Stack:
    """A running stack.

    Attributes:
        url: the AWS endpoint of every service.
        models: the models behind Bedrock; tests script their replies.
        machines: ARN of each workflow's state machine, by the workflow's name.
        settings: what the functions get as their settings.
        state_folder: where records and logs go.
    """

    url: str
    template: Template
    settings: Settings
    machines: Mapping[str, str]
    engine: Engine
    lambdas: Lambdas
    rules: Rules
    models: Models
    moto: Moto
    state_folder: Path
    clock: SystemClock
    _clients: dict[str, Any] = field(default_factory=dict)
    _watchers: list[Watch] = field(default_factory=list)
    _children: dict[str, list[str]] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """A boto3 client of a service of this stack."""
        if service not in self._clients:
            self._clients[service] = client_for(self.url, service)
        return self._clients[service]

    def execution_arn(self, workflow: str, name: str) -> str:
        """ARN that an execution of that name has."""
        return f"{self.machines[workflow].replace(':stateMachine:', ':execution:')}:{name}"

    def children(self, execution: str) -> list[str]:
        """ARNs of the executions that an execution started, in order."""
        return self._children.get(execution, [])

    @contextlib.contextmanager
    def watching(self, watch: Watch) -> Iterator[None]:
        """Let `watch` see every history event inside the block, as it is recorded."""
        self._watchers.append(watch)
        try:
            yield
        finally:
            self._watchers.remove(watch)

    async def settled(self) -> None:
        """Wait until the functions that status events start have ended."""
        await self.rules.idle()

    def attach(self) -> None:
        """Hear of every event of the engine's executions, and start what the rules demand."""
        self.engine.subscribe(self.see)
        self.engine.on_status_change(self.rules.status_changed)

    def see(self, execution: str, event: Event) -> None:
        """Pass an event on to whoever watches."""
        if event.type == "TaskSubmitted":
            self._note_child(execution, event)
        for watch in self._watchers:
            watch(execution, event)

    def _note_child(self, execution: str, event: Event) -> None:
        if event.details.get("resourceType") != "states":
            return
        started = json.loads(event.details.get("output") or "{}").get("ExecutionArn")
        if started:
            self._children.setdefault(execution, []).append(started)


@contextlib.asynccontextmanager
async def running_stack(
    *,
    port: int = 0,
    server: ModelServer | None = None,
    root: Path = ROOT,
    state_folder: Path | None = None,
    overrides: Mapping[str, str] | None = None,
) -> AsyncIterator[Stack]:
    """Start the stack, give it, and stop it whatever happens inside the block.

    Args:
        port: loopback port; 0 takes a free one.
        server: a model server of the user's own, None for the built-in model.
        root: folder with template.yaml.
        state_folder: where records and logs go; `.autoops` in the root when None.
        overrides: template parameters that come before the laptop's own.

    Raises:
        PortTakenError: another program has the port.
        ModelServerError: the model server does not answer.
        TemplateError: what is wrong with the template, and where.
    """
    bound = bind(port)
    folder = state_folder or root / ".autoops"
    async with AsyncExitStack() as cleanup:
        cleanup.callback(bound.close)
        url = url_of(bound)
        template = _template(root, {**parameters(server), **(overrides or {})})
        log = cleanup.enter_context(_log(folder))
        lambdas = _lambdas(template, url, root, log)
        await lambdas.start()
        cleanup.push_async_callback(lambdas.stop)
        clock = SystemClock()
        moto, vectors = await _stores(template, clock)
        models = await served_models(server, clock.now)
        engine = Engine(Integrations(lambdas, lambda service: client_for(url, service)))
        cleanup.push_async_callback(engine.close)
        stack = Stack(
            url=url,
            template=template,
            settings=Settings.read(template.functions["OpenRunFunction"].environment),
            machines=make_machines(template, engine, f"{STACK_NAME}-"),
            engine=engine,
            lambdas=lambdas,
            rules=Rules(template.rules.values(), lambdas),
            models=models,
            moto=moto,
            state_folder=folder,
            clock=clock,
        )
        stack.attach()
        await cleanup.enter_async_context(serving(_app(stack, vectors, log), bound))
        cleanup.callback(_begin_warming(stack))
        yield stack


def _template(root: Path, chosen: Mapping[str, str]) -> Template:
    return Template.load(root / "template.yaml", chosen, stack_name=STACK_NAME)


async def _stores(template: Template, clock: SystemClock) -> tuple[Moto, VectorStore]:
    moto = Moto()
    moto.reset()
    vectors = VectorStore(now=clock.now)
    await asyncio.to_thread(moto.load, "dynamodb", "s3", "events")
    make_stores(template, moto, vectors)
    return moto, vectors


def _begin_warming(stack: Stack) -> Callable[[], None]:
    """Load what is asked for first while the stack serves already, and tick; returns the end."""
    warming = [
        asyncio.ensure_future(_warm(stack.lambdas)),
        asyncio.ensure_future(asyncio.to_thread(_load, stack)),
        asyncio.ensure_future(stack.rules.tick()),
    ]

    def end() -> None:
        for task in warming:
            task.cancel()

    return end


def _load(stack: Stack) -> None:
    """What the first question would load, while the first workers start."""
    warm()
    for service in ("s3", "dynamodb"):
        stack.client(service)


async def _warm(lambdas: Lambdas) -> None:
    """Have a worker of each function ready, one after the other, at the version machines hold."""
    for name in lambdas.functions:
        await lambdas.warm(f"{name}:1")


def _lambdas(template: Template, url: str, root: Path, log: TextIO) -> Lambdas:
    return Lambdas(
        functions_of(template),
        LambdaSettings(root / "functions", url, _inherited()),
        log=lambda name, line: print(f"{name}\t{line}", file=log),
    )


def _app(stack: Stack, vectors: VectorStore, log: TextIO) -> ASGIApp:
    bedrock = bedrock_app(stack.models)
    services = {
        **moto_services(stack.moto),
        "states": stepfunctions_app(stack.engine),
        "lambda": lambda_app(stack.lambdas),
        "bedrock": bedrock,
        "s3vectors": vectors_app(vectors),
    }
    # Unsigned requests are for the scripts of the local models only.
    return gateway(
        services,
        unsigned=bedrock,
        report=lambda _service, problem: traceback.print_exception(
            type(problem), value=problem, tb=problem.__traceback__, file=log
        ),
    )


@contextlib.contextmanager
def _log(folder: Path) -> Iterator[TextIO]:
    """The file that functions' output and broken services go to; each stack begins it anew."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "stack.log").open("w", encoding="utf-8", buffering=1) as log:
        yield log


def _inherited() -> dict[str, str]:
    """What Python itself needs to start on this machine."""
    names = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV")
    return {name: os.environ[name] for name in names if name in os.environ}  # noqa: TID251 - for the functions


def client_for(url: str, service: str) -> Any:
    """A boto3 client that talks to the stack, whatever account this machine is set up for."""
    from botocore.config import Config

    session = _session()
    config = Config(retries={"total_max_attempts": 1}, max_pool_connections=16)
    return session.client(service, endpoint_url=url, config=config)


@functools.cache
def _session() -> Any:
    import boto3

    return boto3.session.Session(
        aws_access_key_id=ISOLATION["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=ISOLATION["AWS_SECRET_ACCESS_KEY"],
        region_name=REGION,
    )
