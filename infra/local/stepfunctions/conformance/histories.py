"""Whether a history is the recorded one, where events of side-by-side strands may interleave."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from local.stepfunctions.conformance.match import Matcher

Events = Sequence[dict[str, Any]]
_OPENS: Final = ("ParallelStateStarted", "MapStateStarted")
_CLOSES: Final = ("ParallelStateExited", "MapStateExited")
_ENDS: Final = ("ExecutionFailed", "ExecutionSucceeded", "ExecutionTimedOut", "ExecutionAborted")


def kinds_difference(expected: Events, found: Events, *, lossy: bool) -> str | None:
    """The first difference in types and state names, None when there is none.

    Args:
        expected: the recorded events.
        found: our own.
        lossy: whether the recorder lost order and some events of side-by-side strands.
    """
    if [_kind(event) for event in expected] == [_kind(event) for event in found]:
        return None
    outside, inside = _split(expected)
    own_outside, own_inside = _split(found)
    told = _sequence_difference([_kind(e) for e in outside], [_kind(e) for e in own_outside])
    if told is not None:
        return told
    recorded = Counter(_kind(event) for event in inside)
    own = Counter(_kind(event) for event in own_inside)
    lossy = lossy or _failed(inside)
    missing = recorded - own
    extra = Counter() if lossy else own - recorded
    if missing or extra:
        return f"events: missing {dict(missing)}, not recorded {dict(extra)}"
    if lossy or _edges(expected, inside) == _edges(found, own_inside):
        return None
    return "events: the order inside a branch differs"


def details_difference(
    expected: Events, found: Events, matcher: Matcher, *, lossy: bool
) -> str | None:
    """The first difference in whole events; ids count until strands run side by side."""
    if len(expected) == len(found):
        told = _pairwise(expected, found, matcher, ids=True)
        if told is None:
            return None
        if not any(event["type"] in _OPENS for event in expected):
            return told
    outside, inside = _split(expected)
    own_outside, own_inside = _split(found)
    told = _pairwise(outside, own_outside, matcher, ids=False)
    if told is not None:
        return told
    left = list(own_inside)
    for event in inside:
        same = next((own for own in left if _same(event, own, matcher)), None)
        if same is None:
            return f"events/{event['type']}: {event['details']!r} did not happen"
        left.remove(same)
    if left and not (lossy or _failed(inside)):
        return f"events/{left[0]['type']}: not recorded"
    return None


def _pairwise(expected: Events, found: Events, matcher: Matcher, *, ids: bool) -> str | None:
    for number, (event, own) in enumerate(zip(expected, found, strict=False)):
        members = ("id", "prev", "type", "stateName", "details") if ids else ("type", "details")
        for member in members:
            path = f"events[{number}]/{member}"
            told = matcher.difference(event.get(member), own.get(member), path)
            if told is not None:
                return told
    return None


def _same(event: dict[str, Any], own: dict[str, Any], matcher: Matcher) -> bool:
    same_kind = _kind(event) == _kind(own)
    return same_kind and matcher.difference(event["details"], own["details"]) is None


def _kind(event: dict[str, Any]) -> str:
    name = event.get("stateName")
    return f"{event['type']}:{name}" if name else str(event["type"])


def _failed(events: Events) -> bool:
    return any(event["type"].endswith(("StateFailed", "IterationFailed")) for event in events)


def _split(events: Events) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Events outside and inside of the outermost Parallel and Map states."""
    outside: list[dict[str, Any]] = []
    inside: list[dict[str, Any]] = []
    state: str | None = None
    entered: str | None = None
    for event in events:
        if state is not None and _leaves(event, state):
            state = None
        (outside if state is None else inside).append(event)
        if event["type"].endswith(("ParallelStateEntered", "MapStateEntered")):
            entered = event["stateName"]
        if state is None and event["type"] in _OPENS:
            state = entered or ""
    return outside, inside


def _leaves(event: dict[str, Any], state: str) -> bool:
    if event["type"] in _ENDS:
        return True
    return event["type"] in _CLOSES and event.get("stateName") == state


def _sequence_difference(expected: list[str], found: list[str]) -> str | None:
    for number, (kind, own) in enumerate(zip(expected, found, strict=False)):
        if kind != own:
            return f"events[{number}]/type: {kind} against {own}"
    if len(expected) != len(found):
        return f"events: {len(expected)} against {len(found)}"
    return None


def _edges(events: Events, inside: Events) -> Counter[tuple[str, str]]:
    by_id = {event["id"]: _kind(event) for event in events}
    return Counter((by_id.get(event["prev"], ""), _kind(event)) for event in inside)
