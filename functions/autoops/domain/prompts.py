"""Prompts are text files: front matter, then named blocks with `{placeholders}`.

---
name: answer
version: 1
max_tokens: 700
answer: CitedAnswer
---
# system
You answer from the passages alone.
# question
Question: {question}
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autoops.domain.model import PromptVersion
from autoops.errors import InvalidInput

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
    """

    version: PromptVersion
    max_tokens: int
    answer: str
    blocks: Mapping[str, str]

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
        InvalidInput: the front matter lacks a key.
    """
    _, front, body = path.read_text("utf-8").split("---\n", 2)
    settings = dict(line.split(": ", 1) for line in front.splitlines() if line)
    missing = {"name", "version", "max_tokens", "answer"} - settings.keys()
    if missing:
        raise InvalidInput(f"{path.name}: the front matter lacks {', '.join(sorted(missing))}")
    names = _BLOCK.findall(body)
    texts = _BLOCK.split(body)[2::2]
    return Prompt(
        version=PromptVersion(name=settings["name"], version=int(settings["version"])),
        max_tokens=int(settings["max_tokens"]),
        answer=settings["answer"],
        blocks={name: text.strip() for name, text in zip(names, texts, strict=True)},
    )
