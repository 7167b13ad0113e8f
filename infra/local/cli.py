"""`autoops`: the laptop's command line."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape

from autoops.errors import InvalidInput
from local.command import INTERRUPTED
from local.constants import EXECUTION_DAYS
from local.corpus import QUESTION, Corpus, CorpusError, documents_at, language_reference

if TYPE_CHECKING:
    from local import models

BAD_INPUT: Final = 2
FAILED: Final = 1
PORT: Final = 4580

app = typer.Typer(
    help="Multi-step AI workflows on AWS, and the same workflows on this machine.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
engine = typer.Typer(help="The Step Functions engine by itself.", no_args_is_help=True)
app.add_typer(engine, name="stepfunctions")
console = Console(highlight=False)
problems = Console(stderr=True, highlight=False)

Documents = Annotated[
    Path | None,
    typer.Option(
        help="File or folder with text, Markdown, HTML or PDF; the Python language reference"
        " when not given.",
        show_default=False,
    ),
]
QuestionText = Annotated[
    str | None, typer.Option(help="What to ask; needed with your own documents.")
]
Budget = Annotated[str | None, typer.Option(help='Ceiling of the run in dollars, such as "0.25".')]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Loopback port; 0 takes a free one.")]
ModelServer = Annotated[
    str | None,
    typer.Option(
        envvar="AUTOOPS_MODEL_SERVER",
        help="URL of an OpenAI-compatible server (Ollama, llama.cpp, vLLM)."
        " Without it a built-in extractive model quotes the documents.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(envvar="AUTOOPS_MODEL", help="Name of the model on that server."),
]


@app.callback()
def _main() -> None:
    """Keep `autoops` a group of commands, however many there are."""


Definitions = Annotated[
    list[Path] | None, typer.Argument(exists=True, dir_okay=False, help="Definitions (ASL).")
]
TemplateFile = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="The template that deploys them; template.yaml where there is one.",
        show_default=False,
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="An earlier --json: print what has changed."),
]


@app.command()
def run(
    documents: Documents = None,
    question: QuestionText = None,
    budget: Budget = None,
    port: Port = 0,
    model_server: ModelServer = None,
    model: Model = None,
) -> None:
    """Answer a question over documents: the real state machine and handlers, on this machine."""
    try:
        corpus, asked = _checked(documents, question, budget)
        server = _server(model_server, model)
    except (CorpusError, InvalidInput) as problem:
        raise _refused(str(problem)) from None
    from local.show import answer_question

    _finish(_run(answer_question(console, corpus, asked, budget, port=port, server=server)))


@app.command()
def up(port: Port = PORT, model_server: ModelServer = None, model: Model = None) -> None:
    """Keep the laptop's AWS running and print its URLs, until Ctrl-C."""
    try:
        server = _server(model_server, model)
    except InvalidInput as problem:
        raise _refused(str(problem)) from None
    from local.show import keep_up

    _finish(_run(keep_up(console, port=port, server=server)))


@app.command()
def verify(
    files: Definitions = None,
    template: TemplateFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF.")] = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print the graph.")] = False,
    baseline: Baseline = None,
    retries: Annotated[
        bool, typer.Option("--retries", help="Only how often each model call is made at most.")
    ] = False,
) -> None:
    """Prove that no state machine spends unguarded, and what each can cost at most."""
    from local.template.errors import TemplateError
    from local.verify.baseline import NoBaselineError
    from local.verify.machine import NotAMachineError
    from local.verify.report import Asked, form_of, print_retries, print_verdict

    template = template or next(filter(Path.is_file, [Path("template.yaml")]), None)
    if not (template or files):
        raise _refused("give definitions or --template: there is no template.yaml here")
    form = form_of(json=as_json, sarif=as_sarif, mermaid=as_mermaid)
    try:
        if retries and template:
            _finish(print_retries(console, template))
        else:
            _finish(print_verdict(console, Asked(template, files or (), form, baseline)))
    except (TemplateError, NotAMachineError, NoBaselineError) as wrong:
        raise _refused(str(wrong)) from None


@engine.command()
def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Loopback port.")] = 8083,
    journal: Annotated[
        Path | None, typer.Option(help="File that keeps executions when the process dies.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="Where tasks find AWS services and Lambda; AWS otherwise.")
    ] = None,
    keep_days: Annotated[
        int, typer.Option(min=0, help="Days the journal keeps ended executions; 0: for ever.")
    ] = EXECUTION_DAYS,
) -> None:
    """Answer the Step Functions API for boto3 and the AWS CLI, until Ctrl-C."""
    from local.gateway import PortTakenError, bind
    from local.stepfunctions.serve import serve as serve_engine

    try:
        bind(port).close()
    except PortTakenError as taken:
        raise _refused(str(taken)) from None
    console.print(f"Step Functions on http://127.0.0.1:{port}; Ctrl-C ends it.", soft_wrap=True)
    console.print(f"export AWS_ENDPOINT_URL_SFN=http://127.0.0.1:{port}", soft_wrap=True)
    # StartSyncExecution and TestState would go to the host `sync-127.0.0.1`.
    console.print("export AWS_DISABLE_HOST_PREFIX_INJECTION=true")
    asyncio.run(serve_engine(port, journal=journal, endpoint=endpoint, keep_days=keep_days))


def _server(url: str | None, model: str | None) -> "models.ModelServer | None":
    from local.models import model_server

    return model_server(url, model)


def _checked(
    documents: Path | None, question: str | None, budget: str | None
) -> tuple[Corpus, str]:
    """What to answer from and what to answer, before anything is started.

    Raises:
        CorpusError, InvalidInput: one sentence says what is wrong.
    """
    if documents is not None and question is None:
        raise InvalidInput('question: missing; give --question "..." with your own documents')
    from autoops.domain.money import ceiling, dollars
    from autoops.domain.workflows import WORKFLOWS, AnswerQuestion

    asked = QUESTION if question is None else question
    AnswerQuestion.read({"question": asked})
    default = dollars(WORKFLOWS["answer-question"].budget, "budget")
    ceiling(budget, default, default)
    return (language_reference() if documents is None else documents_at(documents)), asked


def _run(work: Coroutine[Any, Any, int]) -> int:
    """Run to the end; Ctrl-C and SIGTERM let it clean up first."""

    async def interruptible() -> int:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            problems.print("[yellow]Stopped.[/yellow]")
            return INTERRUPTED

    return asyncio.run(interruptible())


def _refused(sentence: str) -> typer.Exit:
    problems.print(f"[red]{escape(sentence)}[/red]", soft_wrap=True)
    return typer.Exit(BAD_INPUT)


def _finish(code: int) -> None:
    sys.stdout.flush()
    if code:
        raise typer.Exit(code)
