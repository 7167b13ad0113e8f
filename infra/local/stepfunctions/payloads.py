"""Fields that may hold `{% expressions %}`: compiled once, evaluated into plain JSON values."""

from collections.abc import Callable
from typing import Any, Final

from local.stepfunctions.errors import EvaluationError
from local.stepfunctions.expressions import (
    FUNCTION,
    UNDEFINED,
    Expression,
    ExpressionError,
    Scope,
)
from local.stepfunctions.jsontext import JsonValue, dumps

type_names: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}

Payload = Callable[[Scope], Any]
"""A compiled field: returns its JSON value.

Raises EvaluationError whose cause lacks the state's name and event; the run adds them.
"""


def is_expression(value: object) -> bool:
    """Whether a text is JSONata: delimited exactly, with nothing around it."""
    return isinstance(value, str) and value.startswith("{%") and value.endswith("%}")


def expression_of(value: str) -> Expression:
    """Compile the JSONata between the delimiters.

    Raises:
        ExpressionError: it is not JSONata.
    """
    return Expression(value[2:-2].strip())


def compile_payload(value: JsonValue, location: str) -> Payload:
    """Compile a field.

    Args:
        value: JSON, with expressions anywhere in it.
        location: the field's name, as AWS names it in errors, such as "Output".

    Raises:
        ExpressionError: a text in it is not JSONata.
    """
    if isinstance(value, str) and is_expression(value):
        return _dynamic(expression_of(value), location)
    if not contains_expression(value):
        return lambda _: value
    if isinstance(value, dict):
        return _object(value, location)
    return _array([compile_payload(v, f"{location}[{i}]") for i, v in enumerate(value)])


def constant(value: JsonValue) -> Payload:
    """A field that means itself."""
    return lambda _: value


def contains_expression(value: JsonValue) -> bool:
    """Whether JSONata stands anywhere in the value."""
    if isinstance(value, dict):
        return any(contains_expression(member) for member in value.values())
    if isinstance(value, list):
        return any(contains_expression(member) for member in value)
    return is_expression(value)


def expect(
    payload: Payload, scope: Scope, kind: str, source: JsonValue, location: str
) -> JsonValue:
    """Evaluate a field that must have one type.

    Args:
        payload: the compiled field.
        scope: what it sees.
        kind: array, number, integer, string or boolean.
        source: the field as written, for the sentence.
        location: the field's name.

    Raises:
        EvaluationError: the evaluation failed or returned another type.
    """
    value = payload(scope)
    found = type_names.get(type(value), "object")
    if found == kind or (kind == "integer" and _whole(value)):
        return value
    raise EvaluationError(
        f"The JSONata expression '{_inner(source)}' specified for the field '{location}' returned"
        " an unexpected result type."
        f" Expected '{kind}', but was '{found}' for value: {dumps(value)}",
        location,
    )


def _whole(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)


def _inner(source: object) -> str:
    text = source if isinstance(source, str) else dumps(source)
    return text[2:-2].strip() if is_expression(text) else text


def _dynamic(expression: Expression, location: str) -> Payload:
    opening = f"The JSONata expression '{expression.source}' specified for the field '{location}' "
    evaluate_expression = expression.evaluate

    def evaluate(scope: Scope) -> JsonValue:
        try:
            value = evaluate_expression(scope)
        except ExpressionError as problem:
            cause = f"{opening}threw an error during evaluation. {problem}"
            raise EvaluationError(cause, location) from problem
        if value is UNDEFINED:
            raise EvaluationError(f"{opening}returned nothing (undefined).", location)
        if value is FUNCTION:
            raise EvaluationError(f"{opening}returned an unsupported result type.", location)
        return value

    return evaluate


def _object(value: dict[str, Any], location: str) -> Payload:
    dynamic = [
        (key, compile_payload(member, f"{location}/{key}"))
        for key, member in value.items()
        if contains_expression(member)
    ]

    def evaluate(scope: Scope) -> dict[str, Any]:
        # The copy keeps the order of the keys; what is constant in it is shared.
        result = dict(value)
        for key, member in dynamic:
            result[key] = member(scope)
        return result

    return evaluate


def _array(members: list[Payload]) -> Payload:
    return lambda scope: [evaluate(scope) for evaluate in members]
