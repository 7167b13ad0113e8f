"""Find the passages that bear on the question and put both into the request for the model."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from autoops.calls import PaidCalls
from autoops.domain.answers import schema_bytes
from autoops.domain.claims import claim_for_texts
from autoops.domain.contracts import Contract, Run
from autoops.domain.forms import output_tokens
from autoops.domain.model import Message, ModelRequest
from autoops.domain.passages import Passage
from autoops.domain.pricing import price_of
from autoops.domain.prompts import Prompt, read_prompt
from autoops.domain.references import Private
from autoops.domain.workflows import Question
from autoops.embedding import embedded
from autoops.gate import Gate
from autoops.ports import ArtifactStore, Embedder, VectorIndex

PROMPT: Final = Path(__file__).parent / "prompt.md"


class Input(Contract):
    """The question.

    Attributes:
        call: call path of the embedding of the question, admitted before.
        most: most passages.
    """

    call: str
    question: Private[Question]
    most: Annotated[int, Field(gt=0, le=100)] = 6


class Output(Contract):
    """What was found.

    Attributes:
        found: number of passages in the request; 0 means that there is nothing to ask a model.
        dropped: ids of passages left out because the model's context could not hold them.
        passages: the passages in the request, best first.
        request: for the model, None when nothing was found.
    """

    found: int
    dropped: tuple[str, ...]
    passages: Private[tuple[Passage, ...]]
    request: Private[ModelRequest | None]


def retrieve_context(
    given: Input,
    run: Run,
    *,
    index: VectorIndex,
    embedder: Embedder,
    gate: Gate,
    artifacts: ArtifactStore,
    chat_model: str,
) -> Output:
    """Embed the question under its admitted call, query the index, write the request.

    Raises:
        UnpricedModel: the chat model has no price; nothing was paid.
        TryAgain, GiveUp: what embedder and index say.
    """
    calls = PaidCalls(run, gate, artifacts)
    claim = claim_for_texts(given.call, embedder.model, (given.question,))
    prompt = read_prompt(PROMPT)
    model = prompt.model or chat_model
    price_of(model)  # refused before the embedding is paid for
    (vector,) = embedded(calls, claim, embedder, (given.question,)).rows()
    passages = index.query(run.tenant, given.question, vector, given.most)
    if not passages:
        return Output(found=0, dropped=(), passages=(), request=None)
    kept, request = _fitting(given.question, passages, prompt, model)
    dropped = tuple(passage.id for passage in passages[len(kept) :])
    return Output(found=len(kept), dropped=dropped, passages=kept, request=request)


def _fitting(
    question: str, passages: tuple[Passage, ...], prompt: Prompt, model: str
) -> tuple[tuple[Passage, ...], ModelRequest]:
    """The request with as many of the best passages as the model's context surely holds."""
    room = price_of(model).context - output_tokens(model, prompt.max_tokens)
    kept = passages
    request = _request(question, kept, prompt, model)
    while len(kept) > 1 and request.input_bound(schema_bytes(prompt.answer)) > room:
        kept = kept[:-1]
        request = _request(question, kept, prompt, model)
    return kept, request


def _request(
    question: str, passages: tuple[Passage, ...], prompt: Prompt, model: str
) -> ModelRequest:
    blocks = [
        prompt.block(
            "passage",
            id=passage.id,
            title=passage.chunk.title,
            place=passage.chunk.place,
            text=passage.chunk.text,
        )
        for passage in passages
    ]
    blocks.append(prompt.block("question", question=question))
    return ModelRequest(
        model=model,
        prompt=prompt.version,
        system=prompt.block("system"),
        messages=(Message(role="user", blocks=tuple(blocks)),),
        answer=prompt.answer,
        max_tokens=output_tokens(model, prompt.max_tokens),
        tier=prompt.tier,
    )
