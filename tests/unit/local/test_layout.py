"""Layouts keep boxes apart, lead every edge from box to box, and are the same every time."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from local.layout import Edge, Layout, Node, laid_out

NODES = [Node(name, 80, 40) for name in "ABCD"]
DIAMOND = [Edge("A", "B"), Edge("A", "C", 50, 15), Edge("B", "D"), Edge("C", "D")]


def graphs() -> st.SearchStrategy[tuple[list[Node], list[Edge]]]:
    """Connected graphs of up to eight boxes, with cycles, loops and doubled edges."""
    sizes = st.lists(st.integers(20, 200), min_size=1, max_size=8)

    def with_edges(widths: list[int]) -> st.SearchStrategy[tuple[list[Node], list[Edge]]]:
        names = [f"n{number}" for number in range(len(widths))]
        nodes = [Node(name, width, 30) for name, width in zip(names, widths, strict=True)]
        pairs = st.tuples(st.sampled_from(names), st.sampled_from(names))
        more = st.lists(pairs.filter(lambda pair: pair[0] != pair[1]), max_size=8)
        chain = [Edge(one, two) for one, two in pairwise(names)]
        if len(names) == 1:
            return st.just((nodes, chain))
        return more.map(lambda found: (nodes, [*chain, *(Edge(*pair, 40, 15) for pair in found)]))

    return sizes.flatmap(with_edges)


def overlap(nodes: list[Node], layout: Layout) -> list[tuple[str, str]]:
    return [
        (one.name, two.name)
        for one, two in combinations(nodes, 2)
        if abs(layout.centers[one.name].x - layout.centers[two.name].x)
        < (one.width + two.width) / 2 - 0.01
        and abs(layout.centers[one.name].y - layout.centers[two.name].y)
        < (one.height + two.height) / 2 - 0.01
    ]


def test_what_follows_stands_below() -> None:
    centers = laid_out(NODES, DIAMOND).centers
    assert centers["A"].y < centers["B"].y == centers["C"].y < centers["D"].y


def test_a_cycle_is_drawn_upwards() -> None:
    layout = laid_out(NODES[:2], [Edge("A", "B"), Edge("B", "A")])
    there, back = layout.routes
    assert there[0].y < there[-1].y
    assert back[0].y > back[-1].y


def test_edges_of_one_side_stand_apart() -> None:
    layout = laid_out(NODES, DIAMOND)
    assert layout.routes[0][0].x != layout.routes[1][0].x


@settings(deadline=None, max_examples=40, derandomize=True)
@given(graphs())
def test_boxes_never_overlap_and_everything_is_inside(
    graph: tuple[list[Node], list[Edge]],
) -> None:
    nodes, edges = graph
    layout = laid_out(nodes, edges)
    assert overlap(nodes, layout) == []
    assert len(layout.routes) == len(layout.labels) == len(edges)
    points = [point for route in layout.routes for point in route]
    assert all(0 <= point.y <= layout.height + 0.01 for point in points)
    assert laid_out(nodes, edges) == layout
