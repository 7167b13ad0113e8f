"""Parameters of a template: what is given, what is the default, what is allowed."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.template.errors import problem
from local.template.intrinsics import as_text
from local.template.yaml_text import Located


def parameter_values(
    path: Path, declared: Located, given: Mapping[str, object]
) -> dict[str, object]:
    """The value of every declared parameter: text, or a list for list types.

    Raises:
        TemplateError: one is missing, unknown or not allowed.
    """
    unknown = sorted(given.keys() - declared.keys())
    if unknown:
        raise problem(path, f"There is no parameter {unknown[0]}.")
    return {name: _value(path, name, body, given) for name, body in declared.items()}


def _value(path: Path, name: str, body: Located, given: Mapping[str, object]) -> object:
    if name not in given and "Default" not in body:
        raise problem(
            path, "The parameter has no default and is not given.", line=body.line, resource=name
        )
    value = as_text(given.get(name, body.get("Default")))
    refusal = _refusal(value, body)
    if refusal:
        raise problem(path, refusal, line=body.line, resource=name)
    kind = str(body.get("Type", "String"))
    is_list = kind == "CommaDelimitedList" or kind.startswith("List<")
    return [part.strip() for part in value.split(",")] if is_list else value


def _refusal(value: str, body: Mapping[str, Any]) -> str:
    allowed = [as_text(item) for item in body.get("AllowedValues", [])]
    if allowed and value not in allowed:
        return f"{value!r} is none of {', '.join(allowed)}."
    pattern = body.get("AllowedPattern")
    if pattern and not re.fullmatch(pattern, value):
        return f"{value!r} does not match {pattern}."
    if body.get("Type") == "Number" and not _is_number(value):
        return f"{value!r} is no number."
    return ""


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
