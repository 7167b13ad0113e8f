"""JSONata as Step Functions has it, compiled once and evaluated with the bindings it names."""

import math
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from local.stepfunctions.jsonata_functions import ADDED, REPLACED, Ambience
from local.stepfunctions.jsonata_library import library
from local.stepfunctions.jsontext import JsonValue

_STRINGS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_NAMES: Final = re.compile(r"\$([A-Za-z_]\w*)")
_STATES_MEMBER: Final = re.compile(r"\$states\.(input|result|errorOutput|context)\b")
_STATES: Final = re.compile(r"\$states\b")
_PATH: Final = re.compile(r"\$([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)")
_HOST_PREFIX: Final = re.compile(r"^host function raised \w+: ")
_KEYWORDS: Final = frozenset({"and", "or", "in", "true", "false", "null", "function"})
_STATES_MEMBERS: Final = ("input", "result", "errorOutput", "context")


class Undefined:
    """The type of UNDEFINED: the expression returned nothing."""

    def __repr__(self) -> str:
        return "UNDEFINED"


class Function:
    """The type of FUNCTION: the expression returned a function, which no JSON can hold."""


UNDEFINED: Final = Undefined()
FUNCTION: Final = Function()


class ExpressionError(Exception):
    """JSONata refused the expression's text or its evaluation; the message is JSONata's."""


class Scope:
    """The values an evaluation sees, each made only when an expression names it.

    Args:
        states: members of `$states`: input, and result or errorOutput where there is one.
        variables: the variables in scope by name.
        context: makes the context object.
        ambience: moment and randomness.
    """

    __slots__ = ("_context", "ambience", "make_context", "states", "variables")

    def __init__(
        self,
        states: dict[str, Any],
        variables: Mapping[str, Any],
        context: Callable[[], dict[str, Any]],
        ambience: Ambience,
    ) -> None:
        self.states = states
        self.variables = variables
        self.make_context = context
        self.ambience = ambience
        self._context: dict[str, Any] | None = None

    def state(self, member: str) -> JsonValue:
        """One member of `$states`; KeyError where this scope has none."""
        if member == "context":
            if self._context is None:
                self._context = self.make_context()
            return self._context
        return self.states[member]


class Expression:
    """One compiled JSONata expression.

    Raises:
        ExpressionError: the text is not JSONata.
    """

    __slots__ = ("_members", "_path", "_variables", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._path = _plain_path(source)
        bare = _STRINGS.sub('""', source)
        names = set(_NAMES.findall(bare))
        self._members = _states_members(bare) if "states" in names else ()
        self._variables = tuple(sorted(names - {"states"}))
        try:
            self._compile()
        except ValueError as problem:
            raise ExpressionError(str(problem)) from problem

    @property
    def variables(self) -> tuple[str, ...]:
        """Names with a dollar that the text mentions, functions among them, without `states`."""
        return self._variables

    def evaluate(self, scope: Scope) -> JsonValue:
        """The JSON value the expression returns, or UNDEFINED, or FUNCTION.

        Raises:
            ExpressionError: the evaluation failed.
        """
        if self._path is not None:
            value = self._walk(scope)
            if value is not FUNCTION:
                return value
        compiled = library.find(self.source) or self._compile()
        library.ambience = scope.ambience
        bindings = self._bindings(scope)
        try:
            value = compiled.evaluate(None, bindings, None, None, None)
            if value is not None:
                return _finite(value)
            # None stands for null, for undefined and for a function: the JSON text tells which.
            text = compiled.evaluate_json_or_none(None, bindings, None, None, None)
        except ValueError as problem:
            raise ExpressionError(_wording(str(problem))) from problem
        finally:
            library.ambience = None
        if text is None:
            return UNDEFINED
        return FUNCTION if text == '""' else None

    def _compile(self) -> Any:
        compiled = library.compile(self.source)
        for name in self._variables:
            if name in REPLACED:
                compiled.register_override(name, _bound(REPLACED[name]))
            elif name in ADDED:
                compiled.register(name, _bound(ADDED[name]))
        return compiled

    def _bindings(self, scope: Scope) -> dict[str, Any]:
        variables = scope.variables
        bindings = {name: variables[name] for name in self._variables if name in variables}
        if self._members:
            states: dict[str, Any] = {}
            for member in self._members:
                if member == "context" or member in scope.states:
                    states[member] = scope.state(member)
            bindings["states"] = states
        return bindings

    def _walk(self, scope: Scope) -> JsonValue:
        """Follow a plain path through objects; FUNCTION when JSONata itself must decide."""
        root, steps = self._path or ("", ())
        if root == "states":
            member = steps[0]
            if member != "context" and member not in scope.states:
                return UNDEFINED
            value = scope.state(member)
            steps = steps[1:]
        else:
            value = scope.variables.get(root, FUNCTION)
        for step in steps:
            if isinstance(value, dict):
                value = value.get(step, UNDEFINED)
            elif isinstance(value, list) or value is FUNCTION:
                return FUNCTION
            else:
                return UNDEFINED
        return value


def _finite(value: JsonValue) -> JsonValue:
    if type(value) is float and not math.isfinite(value):
        raise ExpressionError(f"D1001: Number out of range: {value}")
    return value


def _bound(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: object) -> object:
        return function(library.ambience, *arguments)

    return call


def _plain_path(source: str) -> tuple[str, tuple[str, ...]] | None:
    found = _PATH.fullmatch(source.strip())
    if found is None or (not found[2] and found[1] == "states"):
        return None
    steps = tuple(found[2].split(".")[1:])
    return None if _KEYWORDS & set(steps) else (found[1], steps)


def _states_members(bare: str) -> tuple[str, ...]:
    members = _STATES_MEMBER.findall(bare)
    if len(members) == len(_STATES.findall(bare)):
        return tuple(dict.fromkeys(members))
    return _STATES_MEMBERS


def _wording(message: str) -> str:
    message = _HOST_PREFIX.sub("", message)
    if message.startswith("T1006:"):
        return "T1006: Attempted to invoke a non-function"
    return message


def fixed_randomness(seed: str) -> Callable[[], Random]:
    """Randomness that depends on the seed alone and is made when first asked for."""
    made: list[Random] = []

    def get() -> Random:
        if not made:
            made.append(Random(seed))  # noqa: S311 - repeatable on purpose, not for secrets
        return made[0]

    return get
