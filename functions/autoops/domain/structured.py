"""From a model's reply to a value that holds its contract, or to what is wrong with it.

Pure. A reply is never repaired by guessing: fences and prose around the one JSON object are passed
over, conversions lose nothing, and everything else is a violation, phrased for the model.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from autoops.domain.answers import answer_contract, answer_schema
from autoops.domain.contracts import Contract, Json, to_json, whole_text
from autoops.domain.model import Message, ModelReply, ModelRequest
from autoops.errors import ContentBlocked, ModelFaulted, OutputEmpty, OutputTruncated

EXCERPT_CHARACTERS: Final = 2_000
VIOLATIONS: Final = 20
CANDIDATES: Final = 64
GOOD_STOPS: Final = ("end_turn", "tool_use", "stop_sequence", "malformed_tool_use")
"""After the last one the text is judged, and a correction asked for where it does not hold."""

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")


@dataclass(frozen=True)
class Accepted:
    """The value, holding its contract."""

    value: Contract


@dataclass(frozen=True)
class Rejected:
    """What is wrong, phrased for the model; at most `VIOLATIONS` sentences."""

    violations: tuple[str, ...]


class _Broken(ValueError):  # noqa: N818  # a verdict inside this module
    """JSON that the standard loader would take and that must not count."""


def check_stop(reply: ModelReply) -> None:
    """Let the stop reason decide before anything is parsed.

    Raises:
        OutputTruncated, ContentBlocked, ModelFaulted, OutputEmpty: the reply is no answer.
    """
    if reply.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        raise OutputTruncated("the answer reached max_tokens; raise the prompt's max_tokens")
    if reply.stop_reason in ("guardrail_intervened", "content_filtered"):
        raise ContentBlocked(f"the answer was blocked: {reply.stop_reason}")
    if reply.stop_reason not in GOOD_STOPS:
        raise ModelFaulted(f"the model stopped for an unknown reason: {reply.stop_reason}")
    if reply.tool_input is None and not whole_text(reply.text).strip("\ufffd \n\t\r"):
        raise OutputEmpty("the model ended without an answer")


def judge(reply: ModelReply, answer: str) -> Accepted | Rejected:
    """Hold a reply, whose stop reason is good, against its contract."""
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
    verdicts = [_judge_candidate(candidate, answer) for candidate in _objects(text)]
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
        value = json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_constant=_no_constant,
            parse_float=_finite_float,
        )
    except (_Broken, json.JSONDecodeError) as problem:
        reason = str(problem) if isinstance(problem, _Broken) else "the JSON is broken"
        return Rejected((reason,))
    return _validated(value, answer)


def _validated(value: Json, answer: str) -> Accepted | Rejected:
    contract = answer_contract(answer)
    schema = answer_schema(answer)
    try:
        return Accepted(contract.model_validate_json(_text_of(_coerced(value, schema))))
    except _Broken as problem:
        return Rejected((str(problem),))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:VIOLATIONS]
        return Rejected(tuple(_violation(problem["loc"], problem["msg"]) for problem in problems))


def _violation(location: tuple[int | str, ...], message: str) -> str:
    where = ".".join(str(part) for part in location) or "the object"
    return f"{where}: {message}"


def _text_of(value: Json) -> str:
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except ValueError:
        raise _Broken("NaN and Infinity are not allowed") from None


def _objects(text: str) -> Iterator[str]:
    """The outermost JSON objects in a text, braces inside strings passed over.

    An object that never closes yields nothing, nor does anything inside it.
    """
    position = 0
    for _ in range(CANDIDATES):
        start = text.find("{", position)
        if start < 0:
            return
        end = _end_of_object(text, start)
        if end is None:
            if _looks_like_json(text, start):
                return
            position = start + 1
            continue
        yield text[start:end]
        position = end if _looks_like_json(text, start) else start + 1


def _looks_like_json(text: str, start: int) -> bool:
    return text[start + 1 :].lstrip()[:1] in ('"', "}")


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


def _without_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _Broken(f"{', '.join(twice)}: given twice; give each field once")
    return dict(pairs)


def _no_constant(name: str) -> Json:
    raise _Broken(f"{name} is not allowed; give a finite number")


def _finite_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Broken(f"{text[:20]} is out of range; give a finite number")
    return value


def _coerced(value: Json, schema: Mapping[str, Json]) -> Json:
    """The value with conversions that lose nothing; what does not fit stays as it is."""
    if isinstance(value, str):
        return _coerced_text(whole_text(value), schema)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        return {name: _coerced(item, fields.get(name, {})) for name, item in value.items()}
    if isinstance(value, list):
        return [_coerced(item, schema.get("items", {})) for item in value]
    if isinstance(value, float) and schema.get("type") == "integer" and value.is_integer():
        return int(value)
    return value


def _coerced_text(text: str, schema: Mapping[str, Json]) -> Json:
    if "enum" in schema:
        return _member(text, schema["enum"])
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
    return _finite_float(text) if _NUMBER.fullmatch(text.strip()) else text


def _as_container(text: str, schema: Mapping[str, Json]) -> Json:
    kind = list if schema["type"] == "array" else dict
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError:
        return text
    return _coerced(value, schema) if isinstance(value, kind) else text


_CONVERSIONS: Final[Mapping[str, Callable[[str, Mapping[str, Json]], Json]]] = {
    "integer": _as_integer,
    "number": _as_number,
    "array": _as_container,
    "object": _as_container,
}
