"""Draws a state machine: as a picture (SVG) for people, as Mermaid text for pages that draw it.

python -m local.graph              writes docs/<workflow>.svg for every workflow that ships
python -m local.graph ask-model    prints one as Mermaid
"""

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from local.layout import Edge, Layout, Node, Point, laid_out

Definition = Mapping[str, Any]
Machines = Mapping[str, Definition]

ROOT: Final = Path(__file__).parents[2]
START: Final = "(start)"
END: Final = "(end)"
DOT: Final = 16.0
PADDING: Final = 16.0
TITLE: Final = 40.0
NAME_PIXELS: Final = 8.4
SMALL_PIXELS: Final = 6.3
LINE: Final = 15.0
COMMENT_CHARACTERS: Final = 34
LABEL_CHARACTERS: Final = 28

COLORS: Final[Mapping[str, tuple[str, str]]] = {
    "Task": ("#e8f1fb", "#3572b0"),
    "Choice": ("#fff4dc", "#b7791f"),
    "Pass": ("#f1f3f5", "#6b7785"),
    "Wait": ("#f1f3f5", "#6b7785"),
    "Succeed": ("#e6f5ea", "#2f855a"),
    "Fail": ("#fdeaea", "#c0392b"),
    "Map": ("#faf7ff", "#7a5bb5"),
    "Parallel": ("#faf7ff", "#7a5bb5"),
}
STYLE: Final = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
    "text-anchor:middle;fill:#1f2933}"
    ".name{font-size:14px;font-weight:600}.small{font-size:11.5px;fill:#52606d}"
    ".edge{fill:none;stroke:#7b8794;stroke-width:1.4}"
    ".caught{stroke:#c0392b;stroke-dasharray:5 4}"
)


@dataclass(frozen=True)
class Arrow:
    """A way from one state to another.

    Attributes:
        label: condition, error, or "" where there is only one way.
        caught: taken when the state fails.
    """

    source: str
    target: str
    label: str = ""
    caught: bool = False


@dataclass(frozen=True)
class Drawing:
    """A piece of SVG whose upper left corner is at 0, 0."""

    width: float
    height: float
    body: str


def svg(workflow: str, machines: Machines) -> str:
    """The picture of a workflow; the workflows that it runs are drawn inside their states."""
    drawing = _machine(machines[workflow], machines)
    width, height = drawing.width + 2 * PADDING, drawing.height + 2 * PADDING
    title = escape(f"{workflow}: {machines[workflow].get('Comment', '')}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{title}">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#7b8794"/></marker>'
        "</defs>\n"
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#ffffff"/>\n'
        f"{_moved(drawing, PADDING, PADDING)}</svg>\n"
    )


def mermaid(workflow: str, machines: Machines) -> str:
    """The workflow as a Mermaid flowchart."""
    lines = ["flowchart TD", *_mermaid(machines[workflow], machines, "", "    ")]
    return "\n".join(lines) + "\n"


def arrows(definition: Definition) -> Iterator[Arrow]:
    """Every way through a machine, in the order of its states."""
    yield Arrow(START, definition["StartAt"])
    for name, state in definition["States"].items():
        for choice in state.get("Choices", ()):
            yield Arrow(name, choice["Next"], _condition(choice))
        if "Default" in state:
            yield Arrow(name, state["Default"], "otherwise")
        if "Next" in state:
            yield Arrow(name, state["Next"])
        if state.get("End") or state["Type"] in ("Succeed", "Fail"):
            yield Arrow(name, END)
        for caught in state.get("Catch", ()):
            yield Arrow(name, caught["Next"], ", ".join(caught["ErrorEquals"]), caught=True)


def machines_in(folder: Path) -> dict[str, Definition]:
    """The definitions in a folder, by workflow."""
    return {
        path.name.removesuffix(".asl.json"): json.loads(path.read_text())
        for path in sorted(folder.glob("*.asl.json"))
    }


def pictures(machines: Machines) -> dict[str, str]:
    """A picture of each workflow that no other runs, by file name."""
    inside = {_child(state, machines) for machine in machines.values() for state in _all(machine)}
    return {f"{name}.svg": svg(name, machines) for name in machines if name not in inside}


def main(arguments: Sequence[str]) -> None:
    """Write the pictures, or print the named workflows as Mermaid."""
    machines = machines_in(ROOT / "statemachines")
    for name in arguments:
        sys.stdout.write(mermaid(name, machines))
    if not arguments:
        for name, picture in pictures(machines).items():
            (ROOT / "docs" / name).write_text(picture)


def _machine(definition: Definition, machines: Machines) -> Drawing:
    boxes = {name: _box(name, s, machines) for name, s in definition["States"].items()}
    boxes = {START: _dot("#1f2933"), **boxes, END: _dot("#ffffff")}
    ways = list(arrows(definition))
    if not any(way.target == END for way in ways):
        del boxes[END]
    nodes = [Node(name, box.width, box.height) for name, box in boxes.items()]
    layout = laid_out(nodes, [_edge(way) for way in ways])
    parts = [_line(way, layout.routes[number]) for number, way in enumerate(ways)]
    parts += [_label(way, layout, number) for number, way in enumerate(ways) if way.label]
    for name, box in boxes.items():
        center = layout.centers[name]
        parts.append(_moved(box, center.x - box.width / 2, center.y - box.height / 2))
    return Drawing(layout.width, layout.height, "".join(parts))


def _edge(way: Arrow) -> Edge:
    lines = _label_lines(way)
    width = max((len(line) for line in lines), default=0) * SMALL_PIXELS
    # What happens when all goes well stands straight below one another
    weight = 0.1 if way.caught else 0.5 if way.label else 6.0
    return Edge(way.source, way.target, width, len(lines) * LINE, weight)


def _box(name: str, state: Definition, machines: Machines) -> Drawing:
    inner = list(_inner(state, machines))
    if inner:
        return _group(name, state, [_machine(machine, machines) for machine in inner])
    comment = textwrap.wrap(state.get("Comment", ""), COMMENT_CHARACTERS)
    longest = max((len(line) for line in comment), default=0) * SMALL_PIXELS
    width = max(len(name) * NAME_PIXELS, longest) + 28
    height = 28 + len(comment) * LINE
    texts = [_text(width / 2, 20, name, "name")]
    texts += [_text(width / 2, 37 + i * LINE, line, "small") for i, line in enumerate(comment)]
    radius = height / 2 if state["Type"] in ("Choice", "Succeed", "Fail") else 6
    return Drawing(width, height, _rectangle(width, height, state["Type"], radius) + "".join(texts))


def _group(name: str, state: Definition, inner: Sequence[Drawing]) -> Drawing:
    """A state with machines inside, side by side."""
    comment = str(state.get("Comment", ""))
    room = sum(one.width + 2 * PADDING for one in inner)
    width = max(room, len(name) * NAME_PIXELS + 28, len(comment) * SMALL_PIXELS + 28)
    height = max(one.height for one in inner) + TITLE + 2 * PADDING
    x = (width - room) / 2
    parts = [_rectangle(width, height, "Map", 8)]
    parts += [_text(width / 2, 22, name, "name"), _text(width / 2, 39, comment, "small")]
    for one in inner:
        parts.append(_moved(one, x + PADDING, TITLE + PADDING))
        x += one.width + 2 * PADDING
    return Drawing(width, height, "".join(parts))


def _inner(state: Definition, machines: Machines) -> Iterator[Definition]:
    if "ItemProcessor" in state:
        yield state["ItemProcessor"]
    yield from state.get("Branches", ())
    child = _child(state, machines)
    if child:
        yield machines[child]


def _child(state: Definition, machines: Machines) -> str:
    """Name of the workflow that a state runs, "" for none."""
    arguments = state.get("Arguments")
    target = arguments.get("StateMachineArn", "") if isinstance(arguments, Mapping) else ""
    found = re.fullmatch(r"\$\{(\w+)WorkflowArn\}", target)
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", found[1]).lower() if found else ""
    return name if name in machines else ""


def _all(definition: Definition) -> Iterator[Definition]:
    for state in definition["States"].values():
        yield state
        for inner in _inner(state, {}):
            yield from _all(inner)


def _condition(choice: Mapping[str, Any]) -> str:
    return str(choice.get("Condition", "")).removeprefix("{%").removesuffix("%}").strip()


def _label_lines(way: Arrow) -> list[str]:
    return textwrap.wrap(way.label, LABEL_CHARACTERS)


def _label(way: Arrow, layout: Layout, number: int) -> str:
    lines = _label_lines(way)
    center = layout.labels[number]
    width, height = max(map(len, lines)) * SMALL_PIXELS + 6, len(lines) * LINE
    top = center.y - height / 2
    texts = [_text(center.x, top + 11.5 + i * LINE, line, "small") for i, line in enumerate(lines)]
    ground = (
        f'<rect x="{center.x - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}"'
        f' height="{height:.1f}" fill="#ffffff" fill-opacity="0.9"/>\n'
    )
    return ground + "".join(texts)


def _line(way: Arrow, points: Sequence[Point]) -> str:
    path = f"M{points[0].x:.1f},{points[0].y:.1f}"
    for one, two in pairwise(points):
        half = (one.y + two.y) / 2
        path += f" C{one.x:.1f},{half:.1f} {two.x:.1f},{half:.1f} {two.x:.1f},{two.y:.1f}"
    kind = "edge caught" if way.caught else "edge"
    return f'<path class="{kind}" d="{path}" marker-end="url(#tip)"/>\n'


def _rectangle(width: float, height: float, kind: str, radius: float) -> str:
    fill, stroke = COLORS[kind]
    return (
        f'<rect width="{width:.1f}" height="{height:.1f}" rx="{radius:.1f}"'
        f' fill="{fill}" stroke="{stroke}" stroke-width="1.4"/>\n'
    )


def _dot(fill: str) -> Drawing:
    half = DOT / 2
    circle = (
        f'<circle cx="{half}" cy="{half}" r="{half - 1}" fill="{fill}" stroke="#1f2933"'
        ' stroke-width="2"/>\n'
    )
    return Drawing(DOT, DOT, circle)


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>\n'


def _moved(drawing: Drawing, x: float, y: float) -> str:
    return f'<g transform="translate({x:.1f},{y:.1f})">\n{drawing.body}</g>\n'


def _mermaid(definition: Definition, machines: Machines, prefix: str, indent: str) -> Iterator[str]:
    names = [START, *definition["States"], END]
    ids = {name: f"{prefix}s{number}" for number, name in enumerate(names)}
    for name, state in definition["States"].items():
        yield from _mermaid_state(name, state, machines, ids[name], indent)
    for way in arrows(definition):
        label = f'|"{_quoted(way.label)}"|' if way.label else ""
        arrow = "-.->" if way.caught else "-->"
        source, target = _mermaid_end(ids, way.source), _mermaid_end(ids, way.target)
        yield f"{indent}{source} {arrow}{label} {target}"


def _mermaid_state(
    name: str, state: Definition, machines: Machines, identity: str, indent: str
) -> Iterator[str]:
    inner = list(_inner(state, machines))
    if inner:
        yield f'{indent}subgraph {identity}["{_quoted(name)}"]'
        for number, machine in enumerate(inner):
            yield from _mermaid(machine, machines, f"{identity}_{number}", indent + "    ")
        yield f"{indent}end"
    elif state["Type"] == "Choice":
        yield f'{indent}{identity}{{"{_quoted(name)}"}}'
    else:
        yield f'{indent}{identity}["{_quoted(name)}"]'


def _mermaid_end(ids: Mapping[str, str], name: str) -> str:
    return f"{ids[name]}(( ))" if name in (START, END) else ids[name]


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;")


if __name__ == "__main__":
    main(sys.argv[1:])
