"""Whose turn it is when much happened to many executions."""

from typing import Any, cast

from local.stepfunctions.live import Live
from local.stepfunctions.turns import Turns


def execution() -> Live:
    return Live(cast("Any", None))


def note(turns: Turns, live: Live, what: str) -> None:
    turns.add(live, cast("Any", what), 0)


def served(turns: Turns) -> list[tuple[Live, str]]:
    return [(live, cast("str", incoming)) for live, incoming, _ in turns.next()]


def test_what_happens_to_one_execution_is_served_in_its_order() -> None:
    turns, one = Turns(), execution()
    for what in ("started", "stopped", "late"):
        note(turns, one, what)
    assert [what for _, what in served(turns)] == ["started", "stopped", "late"]
    assert not turns.any()


def test_an_execution_that_is_being_served_goes_on_before_those_that_wait() -> None:
    turns, waiting = Turns(), [execution() for _ in range(40)]
    for live in waiting:
        note(turns, live, "started")
    first = [live for live, _ in served(turns)]
    for live in first:
        turns.moved(live)
        note(turns, live, "task succeeded")
    assert [(live, "task succeeded") for live in first] == served(turns)[: len(first)]


def test_turns_grow_while_many_wait_and_shrink_again() -> None:
    turns, many = Turns(), [execution() for _ in range(400)]
    few = len(_round(turns, many[:1]))
    for live in many:
        note(turns, live, "started")
    sizes = []
    while turns.any():
        sizes.append(len(served(turns)))
    assert few < sizes[0] < max(sizes)
    for _ in range(40):
        _round(turns, many[:1])
    for live in many[:40]:
        note(turns, live, "started")
    assert len(served(turns)) == sizes[0]


def _round(turns: Turns, lives: list[Live]) -> list[tuple[Live, str]]:
    for live in lives:
        note(turns, live, "started")
    return served(turns)


def test_who_waits_is_served_though_another_never_pauses() -> None:
    turns, busy, quiet = Turns(), [execution() for _ in range(16)], execution()
    note(turns, quiet, "started")
    seen: list[Live] = []
    for _ in range(200):
        for live in busy:
            turns.moved(live)
            note(turns, live, "task succeeded")
        seen += [live for live, _ in served(turns)]
    assert quiet in seen


def test_cleared_nothing_is_left_to_serve() -> None:
    turns, one = Turns(), execution()
    note(turns, one, "started")
    turns.clear()
    assert not turns.any()
    assert not one.inbox
