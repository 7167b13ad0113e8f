"""Prompts are text files: front matter, then named blocks with `{placeholders}`.

---
name: answer
version: 1
max_tokens: 700
answer: CitedAnswer
model: us.amazon.nova-pro-v1:0
---
# system
You answer from the passages alone.
# question
Question: {question}

`model` may be left out: then the application's own model is asked. So may `tier`, Bedrock's service
tier. A changed text needs a higher version, for it stands on the record of every call.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, get_args

from autoops.domain.model import PromptVersion
from autoops.domain.pricing import Tier
from autoops.errors import InvalidInput

KEYS: Final = frozenset({"name", "version", "max_tokens", "answer"})
OPTIONAL: Final = frozenset({"model", "tier"})

_BLOCK = re.compile(r"^# (\w+)\n", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Prompt:
    """A prompt file, read.

    Attributes:
        version: name and version, kept on every call record.
        max_tokens: most output tokens of an answer.
        answer: name of the answer contract.
        blocks: templates by name.
        model: Bedrock model or inference profile id, None for the application's own.
        tier: Bedrock's service tier.
    """

    version: PromptVersion
    max_tokens: int
    answer: str
    blocks: Mapping[str, str]
    model: str | None = None
    tier: Tier = "default"

    def block(self, name: str, **values: str) -> str:
        """The block with its placeholders filled, in one pass: braces in a value stay as they are.

        Raises:
            InvalidInput: the prompt has no such block, or a placeholder without a value.
        """
        if name not in self.blocks:
            raise InvalidInput(f"prompt {self.version.name}: has no block '# {name}'")
        return _PLACEHOLDER.sub(lambda found: self._value(found[1], values), self.blocks[name])

    def _value(self, placeholder: str, values: Mapping[str, str]) -> str:
        if placeholder not in values:
            raise InvalidInput(f"prompt {self.version.name}: no value for {{{placeholder}}}")
        return values[placeholder]


@cache
def read_prompt(path: Path) -> Prompt:
    """Read a prompt file.

    Raises:
        InvalidInput: the front matter lacks a key, has an unknown one, or a number that is none.
    """
    front, body = _parts(path)
    settings = dict(line.split(": ", 1) for line in front.splitlines() if ": " in line)
    missing, unknown = KEYS - settings.keys(), settings.keys() - KEYS - OPTIONAL
    if missing:
        raise InvalidInput(f"{path.name}: the front matter lacks {', '.join(sorted(missing))}")
    if unknown:
        raise InvalidInput(f"{path.name}: unknown in front matter: {', '.join(sorted(unknown))}")
    names = _BLOCK.findall(body)
    texts = _BLOCK.split(body)[2::2]
    return Prompt(
        version=PromptVersion(name=settings["name"], version=_number(path, settings, "version")),
        max_tokens=_number(path, settings, "max_tokens"),
        answer=settings["answer"],
        blocks={name: text.strip() for name, text in zip(names, texts, strict=True)},
        model=settings.get("model"),
        tier=_tier(path, settings.get("tier", "default")),
    )


def _parts(path: Path) -> tuple[str, str]:
    parts = path.read_text("utf-8").split("---\n", 2)
    if len(parts) != len(("", "front", "body")) or parts[0]:
        raise InvalidInput(f"{path.name}: has to begin with front matter between two lines of ---")
    return parts[1], parts[2]


def _tier(path: Path, name: str) -> Tier:
    for tier in get_args(Tier):
        if name == tier:
            known: Tier = tier
            return known
    raise InvalidInput(f"{path.name}: tier has to be one of {', '.join(get_args(Tier))}")


def _number(path: Path, settings: Mapping[str, str], key: str) -> int:
    if not settings[key].isdecimal() or int(settings[key]) < 1:
        raise InvalidInput(f"{path.name}: {key} has to be a whole number from 1 on")
    return int(settings[key])
