"""From a model's reply to a value that holds its contract, or to what is wrong with it.

Pure. A reply is never repaired by guessing: fences and prose around the one JSON object are passed
over, conversions lose nothing, and everything else is a violation, phrased for the model.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Self

from pydantic import ValidationError

from autoops.domain.answers import answer_contract, answer_schema
from autoops.domain.contracts import Contract, Json, to_json, whole_text
from autoops.domain.model import REPLY_BYTES, TOO_LARGE, Message, ModelReply, ModelRequest
from autoops.errors import ContentBlocked, InvalidInput, ModelFaulted, OutputTruncated

EXCERPT_CHARACTERS: Final = 2_000
VIOLATIONS: Final = 20
VIOLATION_CHARACTERS: Final = 300
CANDIDATES: Final = 64
EXACT: Final = 2**53
"""Every whole number below it is a float of its own."""
MALFORMED: Final = ("malformed_tool_use", "malformed_model_output")
"""What was said is judged, and a correction asked for where it does not hold."""
GOOD_STOPS: Final = ("end_turn", "tool_use", "stop_sequence", *MALFORMED)

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_OPENS_OBJECT = re.compile(r"""\{\s*(["'{}\[]|[\w$.-]+\s*:)""")


Location = tuple[int | str, ...]


@dataclass(frozen=True)
class Accepted:
    """The value, holding its contract."""

    value: Contract


@dataclass(frozen=True)
class Rejected:
    """What is wrong, phrased for the model; at most `VIOLATIONS` sentences."""

    violations: tuple[str, ...]


class _Broken(ValueError):  # noqa: N818  # a verdict inside this module
    """A text whose JSON objects cannot be told apart from its prose."""


class _Object(dict[str, Json]):
    """A JSON object that knows which of its fields were given twice."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self.twice = sorted(name for name, times in counts.items() if times > 1)


class _NotFinite(str):
    """A number that JSON's standard loader would take and that must not count."""

    __slots__ = ()


class _Long(float):
    """A number with more digits than a float keeps; a decimal field gets all of them."""

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str


def check_stop(reply: ModelReply) -> None:
    """Let the stop reason decide before anything is parsed.

    Raises:
        OutputTruncated, ContentBlocked, ModelFaulted: the reply is no answer.
    """
    if reply.stop_reason == TOO_LARGE:
        raise OutputTruncated(f"the reply has {reply.text}, the limit is {REPLY_BYTES}")
    if reply.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        raise OutputTruncated("the answer reached max_tokens; raise the prompt's max_tokens")
    if reply.stop_reason in ("guardrail_intervened", "content_filtered"):
        raise ContentBlocked(f"the answer was blocked: {reply.stop_reason}")
    if reply.stop_reason not in GOOD_STOPS:
        raise ModelFaulted(f"the model stopped for an unknown reason: {reply.stop_reason}")


def is_empty(reply: ModelReply) -> bool:
    """The model ended without a word."""
    return reply.tool_input is None and not whole_text(reply.text).strip("\ufffd \n\t\r")


def judge(reply: ModelReply, answer: str) -> Accepted | Rejected:
    """Hold a reply, whose stop reason is good, against its contract."""
    if is_empty(reply):
        return Rejected(("the reply is empty; give the answer",))
    if reply.tool_input is not None:
        return _validated(reply.tool_input, answer)
    return _judge_text(reply.text, answer)


def correction(
    request: ModelRequest, reply: ModelReply, violations: tuple[str, ...]
) -> ModelRequest:
    """The request once more, with a bounded excerpt of the reply and what is wrong with it.

    It grows from the first request, not from the last correction, so its size has a bound.
    """
    said = reply.text if reply.tool_input is None else to_json(reply.tool_input)
    excerpt = whole_text(said).strip()[:EXCERPT_CHARACTERS] or "(nothing)"
    problems = "\n".join(f"- {violation}" for violation in violations)
    ask = (
        "That answer was not accepted:\n"
        f"{problems}\n"
        "Answer the question again and fill every field as the schema says."
    )
    turns = (
        Message(role="assistant", blocks=(excerpt,)),
        Message(role="user", blocks=(ask,)),
    )
    return request.model_copy(update={"messages": (*request.messages, *turns)})


def _judge_text(text: str, answer: str) -> Accepted | Rejected:
    try:
        verdicts = [_judge_candidate(candidate, answer) for candidate in _objects(text)]
    except _Broken as problem:
        return Rejected((str(problem),))
    good = {
        to_json(verdict.value): verdict for verdict in verdicts if isinstance(verdict, Accepted)
    }
    if len(good) == 1:
        return next(iter(good.values()))
    if good:
        return Rejected(("the reply holds several different answers; give exactly one",))
    bad = [verdict for verdict in verdicts if isinstance(verdict, Rejected)]
    return bad[-1] if bad else Rejected(("the reply holds no complete JSON object; give one",))


def _judge_candidate(text: str, answer: str) -> Accepted | Rejected:
    try:
        return _validated(_parsed(text), answer)
    except RecursionError:
        return Rejected(("the JSON is nested too deeply",))
    except ValueError:
        return Rejected(("the JSON is broken",))


def _parsed(text: str) -> Json:
    return json.loads(
        text, object_pairs_hook=_Object, parse_constant=_NotFinite, parse_float=_finite_or_not
    )


def _validated(value: Json, answer: str) -> Accepted | Rejected:
    contract = answer_contract(answer)
    try:
        problems = tuple(_violation(where, what) for where, what in _unfit(value))
        if problems:
            return Rejected(problems[:VIOLATIONS])
        coerced = json.dumps(_coerced(value, answer_schema(answer)), ensure_ascii=False)
        accepted = contract.model_validate_json(coerced)
        to_json(accepted)
        return Accepted(accepted)
    except InvalidInput as error:
        return Rejected((_violation((), str(error)),))
    except RecursionError:
        return Rejected(("the JSON is nested too deeply",))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[:VIOLATIONS]
        return Rejected(tuple(_violation(problem["loc"], problem["msg"]) for problem in wrong))


def _unfit(value: Json, where: Location = ()) -> Iterator[tuple[Location, str]]:
    """What the standard loader takes and must not count, with the place where it stands."""
    if isinstance(value, dict):
        for name in getattr(value, "twice", ()):
            yield (*where, name), "given twice; give each field once"
        for name, item in value.items():
            yield from _unfit_text(name, where)
            yield from _unfit(item, (*where, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unfit(item, (*where, number))
    elif isinstance(value, _NotFinite) or (isinstance(value, float) and not math.isfinite(value)):
        yield where, f"{str(value)[:20]} is not allowed; give a finite number"
    elif isinstance(value, str):
        yield from _unfit_text(value, where)


def _unfit_text(text: str, where: Location) -> Iterator[tuple[Location, str]]:
    if whole_text(text) != text:
        yield where, "holds half of a surrogate pair; give whole characters"


def _violation(location: Location, message: str) -> str:
    where = ".".join(str(part) for part in location) or "the object"
    return whole_text(f"{where}: {message}")[:VIOLATION_CHARACTERS]


def _objects(text: str) -> Iterator[str]:
    """The outermost JSON objects in a text, braces inside strings passed over.

    Raises:
        _Broken: an object never closes, so that all of the reply is in doubt, or there are too
            many braces to look at each.
    """
    position = 0
    for _ in range(CANDIDATES):
        start = text.find("{", position)
        if start < 0:
            return
        end = _end_of_object(text, start)
        if end is not None:
            yield text[start:end]
        elif _OPENS_OBJECT.match(text, start):
            raise _Broken("the JSON object is not closed; give one complete object")
        position = end or start + 1
    if "{" in text[position:]:
        raise _Broken("the reply holds too many braces; give one JSON object and nothing else")


def _end_of_object(text: str, start: int) -> int | None:
    depth = 0
    in_string = False
    skip = False
    for position in range(start, len(text)):
        character = text[position]
        if skip:
            skip = False
        elif in_string:
            skip = character == "\\"
            in_string = character != '"'
        elif character == '"':
            in_string = True
        elif character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return position + 1
    return None


def _finite_or_not(text: str) -> float | str:
    value = float(text)
    if not math.isfinite(value):
        return _NotFinite(text)
    return value if Decimal(repr(value)) == Decimal(text) else _Long(text)


def _coerced(value: Json, schema: Mapping[str, Json]) -> Json:
    """The value with conversions that lose nothing; what does not fit stays as it is."""
    schema = _only_choice(schema)
    if isinstance(value, _Long):
        return value.text if _is_decimal(schema) else value
    if isinstance(value, str):
        return _coerced_text(value, schema)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        return {name: _coerced(item, fields.get(name, {})) for name, item in value.items()}
    if isinstance(value, list):
        return [_coerced(item, schema.get("items", {})) for item in value]
    if isinstance(value, float) and schema.get("type") == "integer" and _is_exact(value):
        return int(value)
    return value


def _only_choice(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """What an optional field is when it is given; with several choices left, nothing is sure."""
    choices = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    return choices[0] if len(choices) == 1 else schema


def _is_decimal(schema: Mapping[str, Json]) -> bool:
    kinds = {choice.get("type") for choice in schema.get("anyOf", [])}
    return {"number", "string"} <= kinds


def _is_exact(value: float) -> bool:
    return value.is_integer() and abs(value) < EXACT


def _coerced_text(text: str, schema: Mapping[str, Json]) -> Json:
    if "enum" in schema or "const" in schema:
        return _member(text, schema.get("enum", [schema.get("const")]))
    convert = _CONVERSIONS.get(schema.get("type", ""))
    return text if convert is None else convert(text, schema)


def _member(text: str, members: list[Json]) -> Json:
    def folded(member: Json) -> str:
        return str(member).strip().casefold()

    same = [member for member in members if folded(member) == folded(text)]
    return same[0] if len(same) == 1 and text not in members else text


def _as_integer(text: str, _: Mapping[str, Json]) -> Json:
    return int(text) if _WHOLE.fullmatch(text.strip()) else text


def _as_number(text: str, _: Mapping[str, Json]) -> Json:
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.inf
    return value if math.isfinite(value) else text


def _as_container(text: str, schema: Mapping[str, Json]) -> Json:
    kind = list if schema["type"] == "array" else dict
    try:
        value = _parsed(text)
    except ValueError:
        return text
    fit = isinstance(value, kind) and not any(_unfit(value))
    return _coerced(value, schema) if fit else text


_CONVERSIONS: Final[Mapping[str, Callable[[str, Mapping[str, Json]], Json]]] = {
    "integer": _as_integer,
    "number": _as_number,
    "array": _as_container,
    "object": _as_container,
}
