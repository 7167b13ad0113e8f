"""Passages of the language reference that Python ships, cut as a reader would cut them."""

import re
from collections.abc import Iterator
from pydoc_data.topics import topics

from local.bedrock.extractive.prompt import Passage

_UNDERLINED = re.compile(r"^(?P<title>.+)\n[=~^*-]{3,}$")
_CHARACTERS = 1_200


def passages(*names: str) -> list[Passage]:
    """Give the passages of some topics, in order, at most 1,200 characters each or a paragraph."""
    return [passage for name in names for passage in _passages(name)]


def _passages(name: str) -> Iterator[Passage]:
    title, place, text, number = name, "", "", 0
    for block in re.split(r"\n\n+", topics[name].strip()):
        heading = _UNDERLINED.match(block.strip())
        if text and (heading or len(text) + len(block) > _CHARACTERS):
            number += 1
            yield Passage(f"{name}#{number}", f"{title}, {place}", text)
            text = ""
        if heading:
            title, place = (heading["title"], "") if title == name else (title, heading["title"])
        text += f"\n\n{block}" if text else block
    yield Passage(f"{name}#{number + 1}", f"{title}, {place}", text)
