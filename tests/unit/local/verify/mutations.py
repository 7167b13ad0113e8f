"""Everything harmful that can be done to the shipped machines by one change."""

from collections.abc import Iterator
from typing import Any, Final

from unit.local.verify.shipped import Change, Json, definition, machine

Mutation = tuple[str, str, Change]
"""Machine, what is done, and how."""
NAMES: Final = ("answer-question", "ask-model", "ingest-documents")
HARMLESS: Final = frozenset({"redrive", "since", "answer"})
"""Fields that their steps take or leave: nothing is spent or undone otherwise without them."""


def _states(found: Json, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Json]]:
    for name, state in found["States"].items():
        yield (*place, name), state
        if "ItemProcessor" in state:
            yield from _states(state["ItemProcessor"], (*place, name))


def _at(found: Json, place: tuple[str, ...]) -> Json:
    for name in place[:-1]:
        found = found["States"][name]["ItemProcessor"]
    return found["States"][place[-1]]


def _around(found: Json, place: tuple[str, ...]) -> Json:
    for name in place[:-1]:
        found = found["States"][name]["ItemProcessor"]
    return found["States"]


def _drop(place: tuple[str, ...], *path: str | int) -> Change:
    def change(found: Json) -> None:
        inside: Any = _at(found, place)
        for key in path[:-1]:
            inside = inside[key]
        del inside[path[-1]]

    return change


def _put(place: tuple[str, ...], value: Json, *path: str | int) -> Change:
    def change(found: Json) -> None:
        inside: Any = _at(found, place)
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value

    return change


def _rename(place: tuple[str, ...], name: str) -> Change:
    def change(found: Json) -> None:
        assign = _at(found, place)["Assign"]
        assign[f"{name}Renamed"] = assign.pop(name)

    return change


def _round(place: tuple[str, ...]) -> Change:
    """Take an Admit out; who led there leads to what comes after it."""

    def change(found: Json) -> None:
        states = _around(found, place)
        after = states.pop(place[-1])["Next"]
        for state in states.values():
            for way in (state, *state.get("Choices", ()), *state.get("Catch", ())):
                for key in ("Next", "Default"):
                    if way.get(key) == place[-1]:
                        way[key] = after

    return change


def _mutations() -> Iterator[Mutation]:
    for name in NAMES:
        found = definition(machine(name).arn)
        yield name, "no timeout", lambda d: d.pop("TimeoutSeconds")
        for place, state in _states(found):
            for what, change in _of_state(place, state):
                yield name, f"{'/'.join(place)} {what}", change


def _of_state(place: tuple[str, ...], state: Json) -> Iterator[tuple[str, Change]]:
    for key in state.get("Assign", {}):
        if (place[-1], key) == ("CallModel", "request"):
            continue  # bound before: the same question is asked again, admitted and bounded
        yield f"binds no {key}", _drop(place, "Assign", key)
        yield f"renames {key}", _rename(place, key)
    for number in range(len(state.get("Catch", ()))):
        yield f"Catch {number} counts nothing", _drop(place, "Catch", number, "Assign")
        yield f"Catch {number} asks at once", _put(place, place[-1], "Catch", number, "Next")
    if place[-1] == "Admit":
        yield "is taken out", _round(place)
        yield "retries its timeout", _put(place, ["States.Timeout"], "Retry", 2, "ErrorEquals")
        yield (
            "is caught by the call",
            _put(place, [{"ErrorEquals": ["BudgetExceeded"], "Next": state["Next"]}], "Catch"),
        )
    if state["Type"] == "Task":
        yield "has no timeout", _drop(place, "TimeoutSeconds")
    if state["Type"] == "Wait":
        yield "waits for ever", _put(place, "{% $throttled * 5 %}", "Seconds")
    yield from _of_retry(place, state)
    yield from _of_payload(place, state)


def _of_retry(place: tuple[str, ...], state: Json) -> Iterator[tuple[str, Change]]:
    for number in range(len(state.get("Retry", ()))):
        yield f"lacks Retry {number}", _drop(place, "Retry", number)
        if state["Retry"][number]["ErrorEquals"] != ["CallInProgress"]:  # waits, asks nobody
            yield f"retries {number} often", _put(place, 50, "Retry", number, "MaxAttempts")


def _of_payload(place: tuple[str, ...], state: Json) -> Iterator[tuple[str, Change]]:
    payload = state.get("Arguments", {}).get("Payload", {})
    for key in payload:
        yield f"hands over no {key}", _drop(place, "Arguments", "Payload", key)
    for key in payload.get("input", {}):
        at = ("Arguments", "Payload", "input", key)
        if key not in HARMLESS:
            yield f"hands its step no {key}", _drop(place, *at)
        yield f"hands its step an unbound {key}", _put(place, "{% $unknown %}", *at)
        if key == "call":
            yield "names another call", _put(place, "{% $run.root & '/other' %}", *at)


ASK: Final = ("AskModel",)
BATCHES: Final = ("IngestBatches",)
CHUNKS: Final = ("ChunkDocuments",)
OTHERS: Final[tuple[Mutation, ...]] = (
    ("answer-question", "more corrections", _put(ASK, 5, "Arguments", "Input", "corrections")),
    ("answer-question", "refused corrections", _put(ASK, 9, "Arguments", "Input", "corrections")),
    ("answer-question", "open corrections", _drop(ASK, "Arguments", "Input", "corrections")),
    ("answer-question", "a child without run", _drop(ASK, "Arguments", "Input", "run")),
    (
        "answer-question",
        "a child's error under its own name",
        _put(ASK, [{"ErrorEquals": ["OutputRejected"], "Next": "NothingFound"}], "Catch"),
    ),
    (
        "answer-question",
        "the child's timeout again",
        _put(ASK, [{"ErrorEquals": ["States.Timeout"]}], "Retry"),
    ),
    ("answer-question", "past the guard", _put(("OpenRun",), "RetrieveContext", "Next")),
    (
        "ask-model",
        "corrects past the guard",
        _put(("Correct",), "CallModel", "Next"),
    ),
    (
        "ask-model",
        "corrects for ever",
        _put(("Accepted?",), "{% $correction >= 0 %}", "Choices", 1, "Condition"),
    ),
    ("ask-model", "corrects uncounted", _put(("Correct",), 0, "Assign", "correction")),
    ("ask-model", "looks into an answer", _put(("Answered",), "{% $answer.text %}", "Output")),
    ("ingest-documents", "items without run", _drop(BATCHES, "ItemSelector", "run")),
    (
        "ingest-documents",
        "one history for all",
        lambda d: d["States"]["IngestBatches"]["ItemProcessor"].update(
            ProcessorConfig={"Mode": "INLINE"}
        ),
    ),
    ("ingest-documents", "open items", _put(BATCHES, "{% $states.input.batches %}", "Items")),
)


def _wrong_call(found: Json) -> None:
    """All batches make the same call."""
    inner = found["States"]["IngestBatches"]["ItemProcessor"]["States"]
    for name in ("Admit", "EmbedChunks"):
        inner[name]["Arguments"]["Payload"]["input"]["call"] = "{% $run.root & '/EmbedChunks/0' %}"


MUTATIONS: Final = [
    *_mutations(),
    *OTHERS,
    ("ingest-documents", "one call for all batches", _wrong_call),
]
