"""No run ever costs more than its worst case, and the dearest come near it."""

import copy
from dataclasses import replace
from random import Random
from typing import Final

import pytest

from autoops.domain.pricing import price_of
from local.verify.world import World
from local.verify.worst import Worst
from unit.local.verify.shipped import Json, machine, world
from unit.local.verify.simulated import Dearest, Say
from unit.local.verify.small import MACHINE, NESTS, Definition, Nest, world_of
from unit.local.verify.test_small_machines import RIGHT

MODEL: Final = "amazon.nova-lite-v1:0"
NEAR: Final = 0.8
BATCHES: Final = 3
REFERENCE: Final = {"artifact": f"default/{'a' * 64}", "bytes": 10}
RUN: Final = {"id": "r1", "root": "w:r1", "workflow": "w", "tenant": "default"}
LOST: Final = ["AdmissionLost"] * 6 + ["ModelThrottled"] * 6
STARTS: Final[dict[str, Json]] = {
    "answer-question": {"question": "Why?"},
    "ask-model": {"run": RUN, "call": "c", "request": REFERENCE, "corrections": 2},
    "ingest-documents": {"prefix": ""},
}
GIVES: Final[dict[str, Json]] = {
    "OpenRun": {"run": RUN, "start": {"question": REFERENCE, "prefix": ""}},
    "RetrieveContext": {"found": 1, "passages": REFERENCE, "request": REFERENCE},
    "PostProcess": {"outcome": "answered", "answer": REFERENCE},
    "ListDocuments": {"documents": 2, "batches": [{"documents": ["a"]}] * BATCHES},
    "ParseDocuments": {"texts": REFERENCE},
    "ChunkDocuments": {
        "count": 1,
        "chunks": REFERENCE,
        "texts": REFERENCE,
        "documents": REFERENCE,
    },
    "EmbedChunks": {"vectors": REFERENCE},
    "IndexChunks": {"documents": REFERENCE},
}


def _dearest_way(times: int = 1) -> Say:
    """Lose each admission and be throttled as often as it goes, then be corrected twice."""

    def say(state: object, asked: int) -> Json | str:
        name = str(getattr(state, "name", ""))
        visit = (asked - 1) // times
        if name in ("RetrieveContext", "CallModel", "EmbedChunks") and visit < len(LOST):
            return LOST[visit]
        if name == "CallModel":
            accepted = visit >= len(LOST) + 2
            return {"accepted": accepted, "answer": REFERENCE, "again": REFERENCE}
        return GIVES.get(name, {})

    return say


def _few_batches() -> World:
    """The shipped world; a folder to ingest has few batches, so that a run is short."""
    found = world()
    functions = dict(found.functions)
    for arn, function in functions.items():
        if function.step == "list_documents":
            fields = dict(function.gives.fields or {})
            fields["batches"] = replace(fields["batches"], most=BATCHES)
            functions[arn] = replace(function, gives=replace(function.gives, fields=fields))
    return replace(found, functions=functions)


@pytest.mark.parametrize("name", STARTS)
async def test_the_dearest_run_of_a_shipped_machine_comes_near_its_worst_case(name: str) -> None:
    around = _few_batches()
    shipped = machine(name, around)
    most = Worst(around).of(shipped)
    times = BATCHES if name == "ingest-documents" else 1
    spent = await Dearest(around, _dearest_way(times), pace=0).spend(shipped, STARTS[name])
    for figure in ("transitions", "requests", "children", "events"):
        assert NEAR * getattr(most, figure) <= spent[figure] <= getattr(most, figure), figure
    slow = await Dearest(around, _dearest_way(times)).spend(shipped, STARTS[name])
    assert NEAR * most.seconds <= slow["seconds"] <= most.seconds


async def test_tokens_and_dollars_are_those_of_the_requests_whose_outcome_is_unknown() -> None:
    shipped = machine("ask-model")
    most = Worst(world()).of(shipped)
    spent = await Dearest(world(), _dearest_way(), pace=0).spend(shipped, STARTS["ask-model"])
    price = price_of(MODEL)
    dollars = spent["paid"] * price.worst_case(price.context - 800, 800)
    assert NEAR * most.tokens <= spent["paid"] * price.context <= most.tokens
    assert NEAR * most.dollars <= dollars <= most.dollars


def _by_chance(random: Random) -> Say:
    def say(state: object, asked: int) -> Json | str:
        del asked
        caught = [error for edge in getattr(state, "edges", ()) for error in edge.errors]
        if caught and random.random() < 0.6:
            name = random.choice(caught)
            return "Lambda.Unknown" if name.startswith("States.") else name
        return {"text": REFERENCE, "good": random.random() < 0.3, "note": ""}

    return say


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
@pytest.mark.parametrize("found", RIGHT.values(), ids=RIGHT)
async def test_no_run_of_a_small_machine_costs_more_than_its_worst_case(
    found: Definition, nest: Nest
) -> None:
    around = world_of(nest.around(copy.deepcopy(found)))
    root = around.machines[f"{MACHINE}root"]
    most = Worst(around).of(root)
    for seed in range(4):
        random = Random(seed)  # noqa: S311 - a test has to be repeatable
        chance = random if seed % 2 else None
        runs = Dearest(around, _by_chance(random), pace=seed / 2, random=chance)
        spent = await runs.spend(root, {"run": RUN, "call": "c"})
        for figure in ("transitions", "requests", "children", "events", "seconds"):
            assert spent[figure] <= getattr(most, figure), (figure, seed)
