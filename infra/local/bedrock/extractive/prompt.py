"""Reads a conversation as the extractive model sees it: passages, a question, other input."""

import re
from dataclasses import dataclass
from typing import Final

from local.rest import JsonObject

_PASSAGE: Final = re.compile(r"\A\s*\[(?P<id>[^\]\n]{1,512})\][ \t]*(?P<heading>[^\n]*)\n")
_QUESTION: Final = re.compile(r"(?:\A|\n)\s*question:[ \t]*", re.IGNORECASE)


@dataclass(frozen=True)
class Passage:
    """A piece of a document.

    Attributes:
        id: what a citation names.
        heading: the document's title and the place in it.
        text: what quotes are taken from, exactly as given.
    """

    id: str
    heading: str
    text: str


@dataclass(frozen=True)
class Prompt:
    """What the user turns of a conversation hold.

    Attributes:
        passages: in their order, the first of each id.
        question: the last question asked, or all that was written where no block says "Question:".
        text: everything that is no passage, newest turn last.
    """

    passages: tuple[Passage, ...]
    question: str
    text: str


def read_prompt(request: JsonObject) -> Prompt:
    """Read a Converse request; one block is one passage or a piece of other text."""
    passages: dict[str, Passage] = {}
    others: list[str] = []
    for text in _user_texts(request):
        match = _PASSAGE.match(text)
        if match and text[match.end() :].strip():
            passage = Passage(match["id"], match["heading"].strip(), text[match.end() :])
            passages.setdefault(passage.id, passage)
        else:
            others.append(text.strip())
    written = "\n\n".join(others)
    return Prompt(tuple(passages.values()), _question(others) or written, written)


def _user_texts(request: JsonObject) -> list[str]:
    users = [message for message in request["messages"] if message["role"] == "user"]
    return [
        str(block["text"]) for message in users for block in message["content"] if "text" in block
    ]


def _question(texts: list[str]) -> str:
    for text in reversed(texts):
        parts = _QUESTION.split(text)
        if len(parts) > 1:
            return parts[-1].strip()
    return ""
