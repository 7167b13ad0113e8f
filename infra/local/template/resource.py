"""One resource of a template with its properties resolved."""

from collections.abc import Mapping
from typing import Any

from local.template.intrinsics import as_text
from local.template.model import Event
from local.template.stack import Stack
from local.template.yaml_text import Located


class Resource:
    """One resource of a stack with its properties resolved, Globals merged.

    Raises:
        TemplateError: a property cannot be resolved.
    """

    def __init__(self, stack: Stack, logical_id: str, body: Located) -> None:
        self.stack = stack
        self.logical_id = logical_id
        self.body = body
        section = body["Type"].rpartition("::")[2]
        is_sam = body["Type"].startswith("AWS::Serverless::")
        inherited = stack.globals.get(section) or {} if is_sam else {}
        self.raw: Mapping[str, Any] = merged(inherited, body.get("Properties") or {})
        unresolved = {"Policies", "Role", "AssumeRolePolicyDocument"}
        wanted = {key: value for key, value in self.raw.items() if key not in unresolved}
        self.properties: dict[str, Any] = stack.resolver(logical_id).value(wanted)

    def required(self, name: str) -> Any:
        """A property.

        Raises:
            TemplateError: it is absent.
        """
        if name not in self.properties:
            raise self.stack.error(f"{name} is missing.", self.logical_id, self.body)
        return self.properties[name]

    def number(self, name: str, default: int) -> int:
        """A property that is a whole number.

        Raises:
            TemplateError: it is none.
        """
        value = self.properties.get(name, default)
        try:
            return int(as_text(value))
        except ValueError:
            sentence = f"{name} is {value!r}, not a whole number."
            raise self.stack.error(sentence, self.logical_id, self.body) from None

    def events(self) -> tuple[Event, ...]:
        """SAM's Events."""
        found = self.properties.get("Events") or {}
        return tuple(
            Event(name, body.get("Type", ""), body.get("Properties") or {})
            for name, body in found.items()
        )


def merged(inherited: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Globals under a resource's own properties, as SAM merges them.

    Mappings are merged, lists of Globals come first, anything else is replaced.
    """
    result = dict(inherited)
    for key, value in own.items():
        before = result.get(key)
        if isinstance(before, dict) and isinstance(value, dict) and not _intrinsic(before, value):
            result[key] = merged(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            result[key] = [*before, *value]
        else:
            result[key] = value
    return result


def _intrinsic(*values: Mapping[str, Any]) -> bool:
    return any(key == "Ref" or key.startswith("Fn::") for value in values for key in value)
