"""What pyproject.toml declares for verification: `[tool.autoops]`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from autoops.domain.money import dollars

FIGURES: Final = ("dollars", "requests", "tokens", "seconds", "transitions", "events", "children")


@dataclass(frozen=True)
class Settings:
    """The declarations.

    Attributes:
        admit: handlers whose functions admit calls.
        close: handler of the function that closes runs.
        per_item: by handler, the input field of which every item is a request of its own.
        redrives: how often a run is redriven at most.
        limits: by machine name and figure, the most that is allowed; dollars in nano-dollars.
    """

    admit: frozenset[str] = frozenset()
    close: str = ""
    per_item: Mapping[str, str] = field(default_factory=dict)
    redrives: int = 0
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Settings":
        """From the pyproject.toml of a folder; empty where there is none."""
        file = folder / "pyproject.toml"
        content = tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}
        found = content.get("tool", {}).get("autoops", {})
        limits = dict(found.get("limits", {}))
        return cls(
            admit=frozenset(found.get("admit", ())),
            close=str(found.get("close", "")),
            per_item=found.get("request_per_item", {}),
            redrives=int(limits.pop("redrives", 0)),
            limits={name: _limits(own) for name, own in limits.items()},
        )


def _limits(own: Mapping[str, Any]) -> Mapping[str, int]:
    return {
        name: dollars(value, "dollars") if name == "dollars" else int(value)
        for name, value in own.items()
    }
