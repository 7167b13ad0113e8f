"""What the commands show: a run from its documents to its cited answer, and the running stack."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from autoops.domain.money import show as money
from autoops.domain.passages import DocumentState
from autoops.domain.pricing import Usage
from autoops.domain.results import Answer, IngestedDocument, Outcome
from local.bedrock.openai import ModelServerError
from local.corpus import Corpus
from local.gateway import PortTakenError
from local.job import Finished, Job, RunFailedError
from local.models import ModelServer
from local.stack import Stack, running_stack
from local.stepfunctions.events import Event
from local.timeline import Timeline

READ = (DocumentState.OK, DocumentState.PARTIAL)
MOST_PROBLEMS = 20


async def answer_question(
    console: Console,
    corpus: Corpus,
    question: str,
    budget: str | None,
    *,
    port: int,
    server: ModelServer | None,
) -> int:
    """Start the stack, ingest, ask, show.

    Returns:
        The exit code: 0, 1 when the run failed, 2 when it could not be started.
    """
    try:
        console.print("Starting the local stack: Step Functions, Lambda, DynamoDB, S3, Bedrock")
        async with running_stack(port=port, server=server) as stack:
            return await _answer(console, Job(stack), corpus, question, budget)
    except (PortTakenError, ModelServerError) as problem:
        console.print(f"[red]{escape(str(problem))}[/red]", soft_wrap=True)
        return 2
    except RunFailedError as problem:
        console.print(f"\n[bold red]{problem.error}[/bold red] {escape(problem.cause)}")
        console.print(f"Record  {_nearby(problem.record)}", soft_wrap=True)
        return 1


async def keep_up(console: Console, *, port: int, server: ModelServer | None) -> int:
    """Keep the stack running until the task is cancelled; the exit code as above."""
    try:
        async with running_stack(port=port, server=server) as stack:
            console.print(_urls(stack))
            console.print("Ctrl-C ends it.")
            await asyncio.Event().wait()
    except (PortTakenError, ModelServerError) as problem:
        console.print(f"[red]{escape(str(problem))}[/red]", soft_wrap=True)
        return 2
    return 0


async def _answer(
    console: Console, job: Job, corpus: Corpus, question: str, budget: str | None
) -> int:
    console.print(f"Ingesting {corpus.name}: {len(corpus.documents)} documents")
    before = job.stack.clock.now()
    ingested = await job.ingest(corpus, _ignore)
    seconds = (job.stack.clock.now() - before).total_seconds()
    _show_ingested(console, corpus, ingested, seconds)
    if not any(document.state in READ for document in ingested):
        console.print("[red]documents: none of them has text; nothing to answer from[/red]")
        return 2
    console.print(f"\n[bold]{escape(question)}[/bold]\n")
    timeline = Timeline(console)
    outcome, answer, finished = await job.ask(question, budget, timeline.see)
    _show_answer(console, outcome, answer, finished)
    return 0


def _show_ingested(
    console: Console, corpus: Corpus, ingested: Sequence[IngestedDocument], seconds: float
) -> None:
    chunks = sum(document.chunks for document in ingested)
    taken = Counter(document.state in READ for document in ingested)[True]
    console.print(f"Ingested {taken} documents, {chunks} passages, in {seconds:.1f} s")
    problems = [(one.key, one.problem) for one in corpus.unreadable] + [
        (one.document, f"{one.state}: {one.problem}") for one in ingested if one.problem
    ]
    for document, problem in problems[:MOST_PROBLEMS]:
        console.print(f"  [yellow]{escape(document)}[/yellow]: {escape(problem)}")
    if len(problems) > MOST_PROBLEMS:
        console.print(f"  and {len(problems) - MOST_PROBLEMS} more")


def _show_answer(console: Console, outcome: Outcome, answer: Answer, finished: Finished) -> None:
    title = "Answer" if outcome is Outcome.ANSWERED else f"Answer ({outcome})"
    console.print()
    console.print(Panel(escape(answer.text), title=title, title_align="left", border_style="green"))
    if answer.citations:
        table = Table("Document", "Passage", "Quote", box=None, header_style="dim")
        for citation in answer.citations:
            table.add_row(citation.title, citation.place, escape(citation.quote))
        console.print(table)
    console.print(_money_line(finished))
    console.print(f"Record  {_nearby(finished.record)}", soft_wrap=True)


def _money_line(finished: Finished) -> str:
    ledger = finished.ledger
    usage = sum((call.usage for call in ledger.calls if call.usage), Usage())
    left = ledger.budget.available + ledger.budget.reserved
    models = ", ".join(sorted({call.model for call in ledger.calls}))
    return (
        f"Tokens  {usage.sent} in, {usage.output} out"
        f" · {len(ledger.calls)} calls ({models})\n"
        f"Cost    {money(ledger.budget.spent)} of {money(ledger.budget.ceiling)},"
        f" {money(left)} left"
    )


def _nearby(path: Path) -> Path:
    """The path as seen from here, where it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _urls(stack: Stack) -> Table:
    table = Table(box=None, show_header=False)
    table.add_row("AWS endpoint", f"{stack.url}", "export AWS_ENDPOINT_URL for boto3 and the CLI")
    for workflow, arn in stack.machines.items():
        table.add_row(workflow, arn, "")
    table.add_row("Documents bucket", stack.settings.documents_bucket, "")
    table.add_row("Ledger table", stack.settings.ledger_table, "")
    return table


def _ignore(_execution: str, _event: Event) -> None:
    """Ingestion is summed up when it ends."""
