"""What is wrong with a template, and where."""

from pathlib import Path


class TemplateError(Exception):
    """A template that cannot be read; the message names file, line, resource and remedy."""


def problem(
    path: Path, sentence: str, *, line: int | None = None, resource: str = ""
) -> TemplateError:
    """The error with its place in front: `template.yaml:12: CallModelFunction: ...`."""
    place = f"{path}:{line}" if line else str(path)
    subject = f"{resource}: " if resource else ""
    return TemplateError(f"{place}: {subject}{sentence}")
