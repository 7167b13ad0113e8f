"""Places the nodes of a directed graph in layers, top to bottom, and leads its edges between them.

The classic four steps: turn cycles around, give each node a layer, order the layers for few
crossings, then choose coordinates. Every edge passes at least one layer of its own, where its label
stands. All lengths are in pixels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

COLUMN_GAP: Final = 28.0
ROW_GAP: Final = 16.0
SWEEPS: Final = 12
STIFFNESS: Final = 4.0
"""How much straighter an edge goes through layers than into a node."""
SETTLING: Final = 400


@dataclass(frozen=True)
class Node:
    """A box to place."""

    name: str
    width: float
    height: float


@dataclass(frozen=True)
class Edge:
    """An arrow between two nodes.

    Attributes:
        width: room that its label needs.
        height: as width.
        weight: how straight it wants to be, compared with others.
    """

    source: str
    target: str
    width: float = 0.0
    height: float = 0.0
    weight: float = 1.0


@dataclass(frozen=True)
class Point:
    """A place; y grows downwards."""

    x: float
    y: float


@dataclass(frozen=True)
class Layout:
    """Where everything goes.

    Attributes:
        centers: of the nodes, by name.
        routes: points of each edge from source to target, in the order the edges were given.
        labels: center of each edge's label.
    """

    width: float
    height: float
    centers: Mapping[str, Point]
    routes: Sequence[Sequence[Point]]
    labels: Sequence[Point]


@dataclass
class _Item:
    """What stands in a layer: a node, or the place where an edge passes."""

    layer: int
    width: float
    height: float
    passes: bool = False
    pull: dict[int, float] = field(default_factory=dict)
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0


def laid_out(nodes: Sequence[Node], edges: Sequence[Edge]) -> Layout:
    """Place the nodes; the first is the start. The same graph always gets the same layout."""
    turned = _back_edges(nodes, edges)
    layers_of = _layers(nodes, edges, turned)
    items = [_Item(layers_of[node.name], node.width, node.height) for node in nodes]
    index = {node.name: number for number, node in enumerate(nodes)}
    chains = [
        _chain(items, index[edge.source], index[edge.target], edge, number in turned)
        for number, edge in enumerate(edges)
    ]
    layers = _ordered(items)
    _place(items, layers)
    return _as_layout(nodes, items, layers, chains, turned)


def _back_edges(nodes: Sequence[Node], edges: Sequence[Edge]) -> set[int]:
    """Numbers of the edges that close a cycle, seen from the start."""
    found: set[int] = set()
    done: set[str] = set()
    on_path: set[str] = set()

    def visit(name: str) -> None:
        on_path.add(name)
        for number, edge in enumerate(edges):
            if edge.source != name:
                continue
            if edge.target in on_path:
                found.add(number)
            elif edge.target not in done:
                visit(edge.target)
        on_path.remove(name)
        done.add(name)

    for node in nodes:
        if node.name not in done:
            visit(node.name)
    return found


def _layers(nodes: Sequence[Node], edges: Sequence[Edge], turned: set[int]) -> dict[str, int]:
    """Each node as low as its longest way from the start; every second layer is for edges."""
    layers = {node.name: 0 for node in nodes}
    for _ in nodes:
        for number, edge in enumerate(edges):
            if number not in turned:
                layers[edge.target] = max(layers[edge.target], layers[edge.source] + 2)
    return layers


def _chain(items: list[_Item], source: int, target: int, edge: Edge, turned: bool) -> list[int]:
    """Let the edge pass each layer in between; returns its items from top to bottom."""
    top, bottom = (target, source) if turned else (source, target)
    chain = [top]
    between = range(items[top].layer + 1, items[bottom].layer)
    middle = between[len(between) // 2] if between else -1
    for layer in between:
        labelled = layer == middle
        items.append(
            _Item(layer, edge.width if labelled else 0, edge.height if labelled else 0, passes=True)
        )
        chain.append(len(items) - 1)
    chain.append(bottom)
    for upper, lower in pairwise(chain):
        items[upper].below.append(lower)
        items[lower].above.append(upper)
        stiff = STIFFNESS if items[upper].passes and items[lower].passes else 1.0
        items[upper].pull[lower] = items[lower].pull[upper] = edge.weight * stiff
    return chain


def _ordered(items: Sequence[_Item]) -> list[list[int]]:
    """The layers, each in an order that crosses few edges."""
    count = max(item.layer for item in items) + 1
    layers = [[n for n, item in enumerate(items) if item.layer == layer] for layer in range(count)]
    best, fewest = layers, _crossings(items, layers)
    for sweep in range(SWEEPS):
        layers = _swept(items, layers, downwards=sweep % 2 == 0)
        crossings = _crossings(items, layers)
        if crossings < fewest:
            best, fewest = layers, crossings
    return best


def _swept(
    items: Sequence[_Item], layers: Sequence[Sequence[int]], *, downwards: bool
) -> list[list[int]]:
    """Order each layer by where its neighbours stand."""
    result = [list(layer) for layer in layers]
    numbers = range(1, len(layers)) if downwards else range(len(layers) - 2, -1, -1)
    for number in numbers:
        fixed = result[number - 1 if downwards else number + 1]
        place = {one: position for position, one in enumerate(fixed)}
        current = {one: position for position, one in enumerate(result[number])}

        def wanted(one: int, place: dict[int, int] = place, now: dict[int, int] = current) -> float:
            item = items[one]
            near = [place[other] for other in (item.above if downwards else item.below)]
            return sum(near) / len(near) if near else now[one]

        result[number].sort(key=wanted)
    return result


def _crossings(items: Sequence[_Item], layers: Sequence[Sequence[int]]) -> int:
    total = 0
    for upper, lower in pairwise(layers):
        place = {one: position for position, one in enumerate(lower)}
        ends = [
            place[below]
            for one in upper
            for below in sorted(items[one].below, key=place.__getitem__)
        ]
        total += sum(later < earlier for i, earlier in enumerate(ends) for later in ends[i + 1 :])
    return total


def _place(items: Sequence[_Item], layers: Sequence[Sequence[int]]) -> None:
    for layer in layers:
        _pack(items, layer, [items[one].x for one in layer])
    for round_ in range(SETTLING):
        for layer in layers if round_ % 2 == 0 else reversed(layers):
            _pack(items, layer, [_middle(items, one) for one in layer])
    left = min(item.x - item.width / 2 for item in items)
    for item in items:
        item.x -= left
    y = 0.0
    for layer in layers:
        height = max(items[one].height for one in layer)
        for one in layer:
            items[one].y = y + height / 2
        y += height + ROW_GAP


def _middle(items: Sequence[_Item], one: int) -> float:
    """Where its neighbours pull it."""
    pull = items[one].pull
    if not pull:
        return items[one].x
    return sum(items[other].x * weight for other, weight in pull.items()) / sum(pull.values())


def _pack(items: Sequence[_Item], layer: Sequence[int], wanted: Sequence[float]) -> None:
    """Place a layer as near to the wanted places as order and gaps allow, by least squares.

    Pool adjacent violators: neighbours that would overlap move together.
    """
    offsets = [0.0]
    for left, right in pairwise(layer):
        reach = (items[left].width + items[right].width) / 2 + COLUMN_GAP
        offsets.append(offsets[-1] + reach)
    pools: list[tuple[float, float, int]] = []
    for one, place, offset in zip(layer, wanted, offsets, strict=True):
        mean, weight, size = place - offset, sum(items[one].pull.values()) or 1.0, 1
        while pools and pools[-1][0] > mean:
            other, heavy, count = pools.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, size = weight + heavy, size + count
        pools.append((mean, weight, size))
    means = [mean for mean, _, size in pools for _ in range(size)]
    for one, mean, offset in zip(layer, means, offsets, strict=True):
        items[one].x = mean + offset


def _as_layout(
    nodes: Sequence[Node],
    items: Sequence[_Item],
    layers: Sequence[Sequence[int]],
    chains: Sequence[Sequence[int]],
    turned: set[int],
) -> Layout:
    routes, labels = [], []
    for number, chain in enumerate(chains):
        points = list(_route(items, layers, chain))
        routes.append(points[::-1] if number in turned else points)
        middle = items[chain[len(chain) // 2]]
        labels.append(Point(middle.x, middle.y))
    return Layout(
        width=max(item.x + item.width / 2 for item in items),
        height=max(item.y + item.height / 2 for item in items),
        centers={
            node.name: Point(item.x, item.y)
            for node, item in zip(nodes, items[: len(nodes)], strict=True)
        },
        routes=routes,
        labels=labels,
    )


def _route(
    items: Sequence[_Item], layers: Sequence[Sequence[int]], chain: Sequence[int]
) -> Iterator[Point]:
    """From the top node's lower edge, straight through each layer, to the bottom node's upper."""
    top, *between, bottom = chain
    yield Point(_port(items, top, between[0], upper=False), items[top].y + items[top].height / 2)
    for one in between:
        half = max(items[other].height for other in layers[items[one].layer]) / 2
        yield Point(items[one].x, items[one].y - half)
        yield Point(items[one].x, items[one].y + half)
    y = items[bottom].y - items[bottom].height / 2
    yield Point(_port(items, bottom, between[-1], upper=True), y)


def _port(items: Sequence[_Item], node: int, neighbour: int, *, upper: bool) -> float:
    """Where an edge meets a node: edges of one side stand apart, in the order they come from."""
    item = items[node]
    others = sorted(item.above if upper else item.below, key=lambda other: items[other].x)
    step = min(36.0, item.width / (len(others) + 1))
    return item.x + (others.index(neighbour) - (len(others) - 1) / 2) * step
