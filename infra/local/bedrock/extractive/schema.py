"""Fills a JSON schema from a text alone: enums by likeness, values by what is written there.

Nothing is made up. What the text does not hold is left out where the schema allows it, and is the
smallest value the schema allows where it does not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from local.bedrock.extractive.sentences import readable, sentences
from local.bedrock.lexical import terms
from local.rest import JsonObject

_NUMBER: Final = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w])")
_FORMATS: Final = {
    "date": re.compile(r"\b\d{4}-\d{2}-\d{2}\b"),
    "date-time": re.compile(r"\b\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})\b"),
    "email": re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"),
    "uri": re.compile(r"\bhttps?://[^\s<>\"']+[^\s<>\"'.,;)]"),
}
_NEGATION: Final = re.compile(r"\b(?:no|not|never|without|n't|cannot)\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"[.;:!?]\s|\n\n|,\s|\b(?:and|but|or)\b")
_UNSURE: Final = ("unknown", "other", "none", "unclear", "unspecified", "n/a")
_SEGMENT: Final = re.compile(r"\n+|;|(?<!\d),(?!\d)|\band\b")
_DEEPEST: Final = 8


@dataclass(frozen=True)
class Filled:
    """A value for a schema, and whether the text gave it."""

    value: Any
    found: bool


def fill(schema: JsonObject, text: str) -> Any:
    """Give a value of the schema's shape from the text."""
    return _Filler(schema).fill(schema, "", text, 0).value


def resolved(root: JsonObject, schema: JsonObject) -> JsonObject:
    """Follow references and choose the first real one of alternatives; null is no real one."""
    for _ in range(_DEEPEST):
        if "$ref" in schema:
            rest = {name: value for name, value in schema.items() if name != "$ref"}
            schema = {**_target(root, str(schema["$ref"])), **rest}
        elif options := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            rest = {k: v for k, v in schema.items() if k not in {"anyOf", "oneOf", "allOf"}}
            schema = {**rest, **_first_real(options)}
        else:
            break
    kind = schema.get("type")
    if isinstance(kind, list):
        return {**schema, "type": next((k for k in kind if k != "null"), "null")}
    return schema


def _target(root: JsonObject, reference: str) -> JsonObject:
    target: Any = root
    for step in reference.removeprefix("#/").split("/"):
        target = target[step]
    return dict(target)


class _Filler:
    def __init__(self, root: JsonObject) -> None:
        self._root = root

    def fill(self, schema: JsonObject, name: str, text: str, depth: int) -> Filled:
        schema = resolved(self._root, schema)
        if "const" in schema:
            return Filled(schema["const"], found=True)
        if "enum" in schema:
            return _choose(schema["enum"], schema, text)
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            return self._object(schema, text, depth)
        if kind == "array":
            return self._array(schema, name, text, depth)
        if kind in {"integer", "number"}:
            return _number(schema, name, text)
        if kind == "boolean":
            return _boolean(schema, name, text)
        return Filled(None, found=False) if kind == "null" else _string(schema, name, text)

    def _object(self, schema: JsonObject, text: str, depth: int) -> Filled:
        required = set(schema.get("required", []))
        value, found = {}, False
        for name, inner in (schema.get("properties") or {}).items():
            if depth >= _DEEPEST and name not in required:
                continue
            filled = self.fill(inner, name, text, depth + 1)
            found = found or filled.found
            if filled.found:
                value[name] = filled.value
            elif name in required:
                value[name] = None if _nullable(inner) else filled.value
        return Filled(value, found)

    def _array(self, schema: JsonObject, name: str, text: str, depth: int) -> Filled:
        items = resolved(self._root, schema.get("items") or {"type": "string"})
        if "enum" in items:
            values = [choice for choice in items["enum"] if _mentions(text, choice)]
        else:
            values = list(self._items(items, name, text, depth))
        values = values[: schema.get("maxItems", len(values))]
        found = bool(values)
        while len(values) < schema.get("minItems", 0):
            values.append(self.fill(items, name, "", depth + 1).value)
        return Filled(values, found)

    def _items(self, items: JsonObject, name: str, text: str, depth: int) -> Iterator[Any]:
        """Give an item for each piece of a list in the text that fills all that is required."""
        if depth >= _DEEPEST or items.get("type") != "object":
            return
        required = items.get("required", [])
        for segment in _SEGMENT.split(text):
            parts = [
                self.fill(items["properties"][key], key, segment, depth + 1) for key in required
            ]
            if parts and all(part.found for part in parts):
                yield self.fill(items, name, segment, depth + 1).value


def _nullable(schema: JsonObject) -> bool:
    options = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return any(o.get("type") == "null" or "null" in _as_list(o.get("type")) for o in options)


def _as_list(kind: object) -> list[Any]:
    return kind if isinstance(kind, list) else []


def _first_real(options: list[JsonObject]) -> JsonObject:
    return next((option for option in options if option.get("type") != "null"), options[0])


def _mentions(text: str, value: object) -> bool:
    wanted = terms(str(value).replace("_", " "))
    return bool(wanted) and set(wanted) <= set(terms(text))


def _choose(values: list[Any], schema: JsonObject, text: str) -> Filled:
    """Choose the enum value whose words the text says most; an unsure one where it says none."""
    said = set(terms(text))
    scores = [_overlap(str(value), said) for value in values]
    best = max(range(len(values)), key=lambda index: scores[index])
    if scores[best] > 0:
        return Filled(values[best], found=True)
    unsure = [value for value in values if str(value).lower() in _UNSURE]
    return Filled(schema.get("default", (unsure or values)[0]), found=False)


def _overlap(value: str, said: set[str]) -> float:
    wanted = set(terms(re.sub(r"[_-]", " ", value)))
    return len(wanted & said) / len(wanted) if wanted else 0.0


def _words_of(schema: JsonObject, name: str) -> set[str]:
    spaced = re.sub(r"[_-]|(?<=[a-z])(?=[A-Z])", " ", name)
    return set(terms(f"{spaced} {schema.get('title', '')} {schema.get('description', '')}"))


def _number(schema: JsonObject, name: str, text: str) -> Filled:
    """Take the number that stands closest to the words of the property's name."""
    whole = schema.get("type") == "integer"
    found = [(m.start(), float(m.group().replace(",", ""))) for m in _NUMBER.finditer(text)]
    fitting = [
        (at, n) for at, n in found if _in_bounds(schema, n) and (not whole or n.is_integer())
    ]
    if not fitting:
        return Filled(schema.get("default", _smallest(schema, whole=whole)), found=False)
    wanted = _words_of(schema, name)
    near = [m.start() for m in re.finditer(r"\w+", text) if wanted & set(terms(m.group()))]
    value = min(fitting, key=lambda pair: min((abs(pair[0] - at) for at in near), default=0))[1]
    return Filled(int(value) if whole or value.is_integer() else value, found=True)


def _in_bounds(schema: JsonObject, value: float) -> bool:
    return bool(
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and schema.get("exclusiveMinimum", value - 1) < value
        and value < schema.get("exclusiveMaximum", value + 1)
    )


def _smallest(schema: JsonObject, *, whole: bool) -> float:
    if _in_bounds(schema, 0):
        return 0
    if "minimum" in schema:
        return float(schema["minimum"]) if not whole else int(schema["minimum"])
    if "exclusiveMinimum" in schema:
        return float(schema["exclusiveMinimum"]) + 1
    return float(schema.get("maximum", 0))


def _boolean(schema: JsonObject, name: str, text: str) -> Filled:
    """Say yes where a clause names the property and does not deny it."""
    wanted = set(terms(re.sub(r"[_-]", " ", name)))
    for clause in _CLAUSE.split(text):
        if wanted and wanted <= set(terms(clause)):
            return Filled(not _NEGATION.search(clause), found=True)
    return Filled(schema.get("default", False), found=False)


def _string(schema: JsonObject, name: str, text: str) -> Filled:
    span = _span(schema, name, text)
    if span.value is None:
        least = int(schema.get("minLength", 0))
        return Filled(schema.get("default", text.strip()[:least].ljust(least, "-")), found=False)
    return Filled(span.value[: schema.get("maxLength", len(span.value))], span.found)


def _span(schema: JsonObject, name: str, text: str) -> Filled:
    """Give what a pattern finds, what stands behind a label, or the sentence that fits best."""
    pattern = _pattern(schema)
    if pattern is not None:
        match = pattern.search(text)
        return Filled(match.group() if match else None, found=bool(match))
    if name and (labelled := _label(name).search(text)):
        return Filled(labelled[1].strip(), found=True)
    wanted = _words_of(schema, name)
    spoken = [text[s.start : s.end] for s in sentences(text)] or [t for t in [text.strip()] if t]
    if not spoken:
        return Filled(None, found=False)
    best = max(spoken, key=lambda sentence: len(wanted & set(terms(sentence))))
    return Filled(readable(best), found=bool(wanted & set(terms(best))))


def _label(name: str) -> re.Pattern[str]:
    words = r"[ _-]".join(map(re.escape, re.split(r"[_-]", name)))
    return re.compile(
        rf"(?:^|[.;,]\s)[^\w\n]*{words}[ \t]*[:=][ \t]*([^\n;]*?)(?=\.?\s*(?:$|[\n;]|\.\s))",
        re.I | re.M,
    )


def _pattern(schema: JsonObject) -> re.Pattern[str] | None:
    if "pattern" in schema:
        try:
            return re.compile(str(schema["pattern"]).removeprefix("^").removesuffix("$"))
        except re.error:
            return None
    return _FORMATS.get(str(schema.get("format")))
