"""A marker that stands inside a field's type marks nothing, so none may stand there."""

from typing import Any

from pydantic import BaseModel

from architecture.project import Project, step_module
from autoops.domain.contracts import Contract
from autoops.domain.references import ByReference, Private, marker_of


def _models(model: type[BaseModel]) -> set[type[BaseModel]]:
    found = {model}
    for one in model.model_fields.values():
        for inner in _parts(one.annotation):
            if isinstance(inner, type) and issubclass(inner, BaseModel) and inner not in found:
                found |= _models(inner)
    return found


def _parts(annotation: Any) -> list[Any]:
    return [annotation, *(p for one in getattr(annotation, "__args__", ()) for p in _parts(one))]


def _hidden(model: type[BaseModel]) -> list[str]:
    """Fields whose marker stands inside the type, where it marks nothing."""
    return [
        f"{one.__module__}.{one.__name__}.{name}"
        for one in _models(model)
        for name, about in one.model_fields.items()
        if marker_of(one, name) is None
        and any(
            isinstance(mark, ByReference)
            for part in _parts(about.annotation)
            for mark in getattr(part, "__metadata__", ())
        )
    ]


class Misplaced(Contract):
    secret: Private[str] | None = None
    several: tuple[Private[str], ...] = ()


def test_no_contract_of_a_step_marks_a_part_of_a_field() -> None:
    steps = Project.read().steps()
    hidden = [
        name
        for step in steps
        for model in ("Input", "Output")
        for name in _hidden(getattr(step_module(step, "step"), model))
    ]
    assert not hidden, f"mark the whole field, as Private[X | None], in {', '.join(hidden)}"


def test_a_marker_inside_a_type_is_named() -> None:
    assert sorted(name.rpartition(".")[2] for name in _hidden(Misplaced)) == ["secret", "several"]
