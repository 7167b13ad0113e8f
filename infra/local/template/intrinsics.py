"""CloudFormation's intrinsic functions over the values of one stack."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from local.template.errors import TemplateError, problem
from local.template.yaml_text import Located

PLACEHOLDER: Final = re.compile(r"\$\{(!?)\s*([^}\s]+)\s*\}")
# `Fn::GetAZs` and the like need an account, `Fn::ImportValue` another stack.
NOT_HERE: Final[Mapping[str, str]] = {
    "Fn::ImportValue": "Fn::ImportValue needs another stack's exports, which the laptop has not; "
    "pass the value as a parameter",
}
NOTHING: Final = object()


class Names(Protocol):
    """What names stand for in a stack."""

    path: Path

    def ref(self, name: str) -> object:
        """The value of Ref; raises LookupError."""
        ...

    def attribute(self, name: str, attribute: str) -> object:
        """The value of Fn::GetAtt; raises LookupError."""
        ...

    def condition(self, name: str) -> bool:
        """The value of a condition; raises LookupError."""
        ...

    def mapping(self, name: str, first: str, second: str) -> object:
        """The value of Fn::FindInMap; raises LookupError."""
        ...


class Resolver:
    """Replaces intrinsics by values.

    Args:
        names: what names stand for.
        resource: the logical id that errors name.
    """

    def __init__(self, names: Names, resource: str) -> None:
        self._names = names
        self._resource = resource
        self._line = 0
        self._functions: Mapping[str, Callable[[Any], object]] = {
            "Ref": self._ref,
            "Fn::GetAtt": self._get_att,
            "Fn::Sub": self._sub,
            "Fn::Join": self._join,
            "Fn::If": self._if,
            "Fn::Equals": self._equals,
            "Fn::And": lambda value: all(self._truth(part) for part in value),
            "Fn::Or": lambda value: any(self._truth(part) for part in value),
            "Fn::Not": lambda value: not self._truth(value[0]),
            "Condition": self._names.condition,
            "Fn::FindInMap": self._find_in_map,
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::Base64": self.value,
            "Fn::ToJsonString": lambda value: json.dumps(self.value(value)),
            "Fn::Length": lambda value: len(self.value(value)),
        }

    def value(self, given: Any) -> Any:
        """The value with every intrinsic replaced; AWS::NoValue drops its key or item.

        Raises:
            TemplateError: an intrinsic is unknown or wrongly used, or a name stands for nothing.
        """
        if isinstance(given, dict):
            return self._mapping(given)
        if isinstance(given, list):
            values = [self.value(item) for item in given]
            return [value for value in values if value is not NOTHING]
        return given

    def _mapping(self, given: dict[str, Any]) -> object:
        if isinstance(given, Located):
            self._line = given.line
        if len(given) == 1:
            (name, argument) = next(iter(given.items()))
            if name in self._functions and (name != "Condition" or isinstance(argument, str)):
                return self._apply(name, argument)
            if name.startswith("Fn::"):
                raise self._problem(NOT_HERE.get(name, f"{name} is no intrinsic the laptop knows"))
        values = {key: self.value(value) for key, value in given.items()}
        return {key: value for key, value in values.items() if value is not NOTHING}

    def _apply(self, name: str, argument: object) -> object:
        line = self._line
        try:
            return self._functions[name](argument)
        except TemplateError:
            raise
        except LookupError as missing:
            self._line = line
            raise self._problem(str(missing.args[0]) if missing.args else name) from None
        except (TypeError, ValueError, AttributeError):
            self._line = line
            raise self._problem(f"{name} is not used as CloudFormation has it") from None

    def _ref(self, name: str) -> object:
        return NOTHING if name == "AWS::NoValue" else self._names.ref(name)

    def _get_att(self, argument: list[str]) -> object:
        name, attribute = argument if len(argument) > 1 else argument[0].split(".", 1)
        return self._names.attribute(name, self.value(attribute))

    def _sub(self, argument: str | list[Any]) -> str:
        text, values = (argument, {}) if isinstance(argument, str) else argument
        own = {key: self.value(value) for key, value in values.items()}

        def replacement(match: re.Match[str]) -> str:
            literal, name = match.groups()
            if literal:
                return f"${{{name}}}"
            if name in own:
                return as_text(own[name])
            if "." in name and not name.startswith("AWS::"):
                return as_text(self._dotted(name))
            return as_text(self._ref(name))

        return PLACEHOLDER.sub(replacement, text)

    def _dotted(self, name: str) -> object:
        owner, attribute = name.split(".", 1)
        if attribute in {"Version", "Alias"}:
            return self._names.ref(name)
        return self._names.attribute(owner, attribute)

    def _join(self, argument: list[Any]) -> str:
        separator, parts = argument
        return str(separator).join(as_text(part) for part in self.value(parts))

    def _if(self, argument: list[Any]) -> object:
        name, yes, no = argument
        return self.value(yes if self._names.condition(name) else no)

    def _equals(self, argument: list[Any]) -> bool:
        first, second = argument
        return as_text(self.value(first)) == as_text(self.value(second))

    def _truth(self, argument: object) -> bool:
        return self.value(argument) is True

    def _find_in_map(self, argument: list[Any]) -> object:
        name, first, second = (as_text(self.value(part)) for part in argument[:3])
        return self._names.mapping(name, first, second)

    def _select(self, argument: list[Any]) -> object:
        index, parts = argument
        position, values = int(self.value(index)), self.value(parts)
        if not 0 <= position < len(values):
            raise LookupError(f"Fn::Select has no item {position} among {len(values)}")
        return values[position]

    def _split(self, argument: list[Any]) -> list[str]:
        separator, text = argument
        return str(self.value(text)).split(separator)

    def _problem(self, sentence: str) -> TemplateError:
        return problem(
            self._names.path, f"{sentence}.", line=self._line or None, resource=self._resource
        )


def as_text(value: object) -> str:
    """A value as CloudFormation writes it into text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(as_text(item) for item in value)
    return str(value)
