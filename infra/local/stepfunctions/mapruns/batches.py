"""Items put together into the inputs of child executions."""

from typing import Any

from local.stepfunctions.jsontext import JsonValue, dumps
from local.stepfunctions.mapruns.spec import Batching


def batches(items: list[Any], batching: Batching | None) -> tuple[list[JsonValue], list[int]]:
    """The children's inputs, and how many items each has.

    Args:
        items: what is mapped over.
        batching: how items are put together; None gives each item its own child.
    """
    if batching is None:
        return list(items), [1] * len(items)
    groups: list[list[Any]] = []
    room = 0
    for item in items:
        size = len(dumps(item).encode()) + 1
        if not groups or _full(groups[-1], batching) or size > room:
            groups.append([])
            room = _room(batching)
        groups[-1].append(item)
        room -= size
    return [_input(group, batching) for group in groups], [len(group) for group in groups]


def _full(group: list[Any], batching: Batching) -> bool:
    return batching.most_items is not None and len(group) >= batching.most_items


def _room(batching: Batching) -> int:
    around = len(dumps(_input([], batching)).encode())
    return int(batching.most_bytes or 0) - around


def _input(group: list[Any], batching: Batching) -> dict[str, Any]:
    if batching.batch_input is None:
        return {"Items": group}
    return {"BatchInput": batching.batch_input, "Items": group}
