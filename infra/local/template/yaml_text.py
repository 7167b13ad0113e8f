"""Reads CloudFormation YAML: short intrinsics written out, lines remembered."""

from pathlib import Path
from typing import Any, Final

import yaml

from local.template.errors import problem

# Intrinsics whose short form takes the long name without "Fn::".
BARE: Final = {"Ref", "Condition"}


class Located(dict[str, Any]):
    """A mapping that knows the line it begins on, counted from 1; 0 where it is made by code."""

    line: int = 0


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen when imported
    """YAML 1.1 as CloudFormation reads it."""


def _mapping(loader: Any, node: yaml.MappingNode) -> Located:
    loader.flatten_mapping(node)
    result = Located()
    result.line = node.start_mark.line + 1
    for key_node, value_node in node.value:
        key = str(loader.construct_object(key_node, deep=True))
        if key in result:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} stands here twice", key_node.start_mark
            )
        result[key] = loader.construct_object(value_node, deep=True)
    return result


def _intrinsic(loader: Any, suffix: str, node: yaml.Node) -> Located:
    result = Located()
    result.line = node.start_mark.line + 1
    name = suffix if suffix in BARE else f"Fn::{suffix}"
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        if suffix == "GetAtt":
            value = value.split(".", 1)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = _mapping(loader, node) if isinstance(node, yaml.MappingNode) else None
    result[name] = value
    return result


def _text(loader: Any, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
# `Version: 2012-10-17` is text to CloudFormation.
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _text)
_Loader.add_multi_constructor("!", _intrinsic)


def read_yaml(path: Path) -> Located:
    """The template in a file.

    Raises:
        TemplateError: no such file, not UTF-8, no YAML, or no mapping at the top.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise problem(path, "There is no such file.") from None
    except (OSError, UnicodeDecodeError) as reason:
        raise problem(path, f"The file cannot be read: {reason}.") from None
    try:
        content = yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.MarkedYAMLError as reason:
        line = reason.problem_mark.line + 1 if reason.problem_mark else None
        raise problem(path, f"This is no valid YAML: {reason.problem}.", line=line) from None
    except yaml.YAMLError as reason:
        raise problem(path, f"This is no valid YAML: {reason}.") from None
    if not isinstance(content, Located):
        raise problem(path, "A template is a mapping with Resources.")
    return content
