"""The template as one object: what to make on the laptop."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from local.template.build import Built, build
from local.template.errors import TemplateError
from local.template.model import (
    Bucket,
    EventBus,
    Function,
    Rule,
    Schedule,
    StateMachine,
    Table,
    VectorBucket,
    VectorIndex,
)
from local.template.stack import Stack

Kind = TypeVar("Kind", bound=Built)


@dataclass(frozen=True)
class Template:
    """Everything that a template and its nested stacks declare and the laptop makes.

    Each mapping is by logical id; names are unique in a template and its nested stacks.
    """

    path: Path
    functions: Mapping[str, Function]
    machines: Mapping[str, StateMachine]
    tables: Mapping[str, Table]
    buckets: Mapping[str, Bucket]
    vector_buckets: Mapping[str, VectorBucket]
    vector_indexes: Mapping[str, VectorIndex]
    buses: Mapping[str, EventBus]
    rules: Mapping[str, Rule]
    schedules: Mapping[str, Schedule]
    outputs: Mapping[str, object]

    @classmethod
    def load(
        cls,
        path: Path,
        parameters: Mapping[str, object] | None = None,
        *,
        stack_name: str = "autoops",
    ) -> "Template":
        """Read a template and the templates nested in it.

        Args:
            path: template.yaml.
            parameters: values of its parameters; the others take their defaults.
            stack_name: what AWS::StackName gives; a nested stack is `<stack name>-<logical id>`.

        Raises:
            TemplateError: file, line, resource and what is wrong.
        """
        stack = Stack(path, parameters or {}, stack_name)
        built = list(build(stack))
        return cls(
            path=path,
            functions=_by_id(built, Function),
            machines=_by_id(built, StateMachine),
            tables=_by_id(built, Table),
            buckets=_by_id(built, Bucket),
            vector_buckets=_by_id(built, VectorBucket),
            vector_indexes=_by_id(built, VectorIndex),
            buses=_by_id(built, EventBus),
            rules=_by_id(built, Rule),
            schedules=_by_id(built, Schedule),
            outputs=stack.outputs(),
        )


def _by_id(built: list[Built], kind: type[Kind]) -> dict[str, Kind]:
    result: dict[str, Kind] = {}
    for item in built:
        if not isinstance(item, kind):
            continue
        if item.logical_id in result:
            raise TemplateError(f"Two stacks have a {kind.__name__} {item.logical_id}.")
        result[item.logical_id] = item
    return result
