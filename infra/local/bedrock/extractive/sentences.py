"""Finds the sentences of documentation text: hard-wrapped, with headings, lists and code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_BLANK: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*)*\n")
_UNDERLINE: Final = re.compile(r"^\s*([=*~^#\"'+-])\1{2,}\s*$")
_FENCE: Final = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(
    r"^\s*(>>>|\.\.\. |::=|\||\+[-=]|\$ |[\w.]+\(.*\)$|(def|class|import|from|return)\b.*[:)\w]$)"
    r"|::=|^\s*#!|^\s*[\w.\[\]]+ = \S",
    re.MULTILINE,
)
_BULLET: Final = re.compile(r"(?:[*+•\u2013-]|\d{1,3}[.)]|\[\d+\])[ \t]+")
_LIST_ITEM: Final = re.compile(r"\n[ \t]*(?=(?:[*+•\u2013-]|\d{1,3}[.)])[ \t]+\S)")
_MARKDOWN_HEADING: Final = re.compile(r"#{1,6}[ \t]+(?P<title>.+?)[ \t#]*$")
_SIGNATURE: Final = re.compile(r"\A\s*(?:[\w.]+\([^()\n]*\)\s*)+\Z")
_TITLE: Final = re.compile(r"^\W{0,3}[A-Z0-9]\S*(?: \S+){0,7}(?<![.:;!?,])$")
_END: Final = re.compile(
    r"[.!?…]+[\"'”\u2019»)\]*`]*(?=\s+\S)|[。\uff01\uff1f]+[」』”\u2019\uff09]*"
)
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?i:e\.g|i\.e|etc|cf|vs|viz|resp|approx|no|nos|fig|sec|vol|pp|mr|mrs|ms|dr|prof|inc|ltd"
    r"|jr|sr|st|al|u\.s|u\.k|a\.m|p\.m)|\b[A-Z])\.$"
)
_FUNCTION_WORDS: Final = frozenset(
    """a an and are as at be by can for from has have if in is it its may must not of on or that the
    their then there these they this to was when which will with you""".split()  # noqa: SIM905 - a list of words, read as one
)
_FEW_WORDS: Final = 8
_LETTERS: Final = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Sentence:
    """One sentence of a passage.

    Attributes:
        start: where it begins in the passage's text.
        end: where it ends, so that text[start:end] is the quote.
        paragraph: number of its paragraph; neighbours of one paragraph read on.
        heading: the nearest heading above it in the passage, or "".
        signature: the call that an indented description stands under, or "".
    """

    start: int
    end: int
    paragraph: int
    heading: str = ""
    signature: str = ""


@dataclass(frozen=True)
class _Block:
    start: int
    end: int


def sentences(text: str) -> list[Sentence]:
    """Give the sentences of a text in order; headings, code, tables and grammar are left out."""
    found: list[Sentence] = []
    heading, signature, above = "", "", ""
    for number, block in enumerate(_blocks(text)):
        body = text[block.start : block.end]
        title = _heading(body)
        if title is not None:
            heading, signature = title, ""
        elif _SIGNATURE.match(body):
            signature = " ".join(body.split())
        elif not _is_code(body) and not _is_literal(body, above):
            above = body
            signature = signature if body[:1].isspace() else ""
            for start, end in _sentence_spans(text, block):
                found.append(Sentence(start, end, number, heading, signature))
    return found


def _blocks(text: str) -> Iterator[_Block]:
    start = 0
    for match in re.finditer(f"{_FENCE.pattern}|{_BLANK.pattern}", text, _FENCE.flags):
        yield from _items(text, start, match.start())
        start = match.end()
    yield from _items(text, start, len(text))


def _items(text: str, start: int, end: int) -> Iterator[_Block]:
    """Split a block at its list items and at a heading that has no blank line below it."""
    cuts = [start, *(match.end() for match in _LIST_ITEM.finditer(text, start, end)), end]
    lines = text[start:end].split("\n", 2)
    if len(lines) == 3 and _UNDERLINE.match(lines[1]):
        cuts.append(start + len(lines[0]) + len(lines[1]) + 2)
    if len(lines) > 1 and _heads_definition(lines):
        cuts.append(start + len(lines[0]) + 1)
    if len(lines) > 1 and _MARKDOWN_HEADING.match(lines[0].strip()):
        cuts.append(start + len(lines[0]) + 1)
    cuts.sort()
    for begin, finish in pairwise(cuts):
        if text[begin:finish].strip():
            yield _Block(begin, finish)


def _heads_definition(lines: list[str]) -> bool:
    """Whether the first line is a term and the indented lines below it say what it is."""
    deeper = _indent(lines[1]) > _indent(lines[0])
    return deeper and bool(_TITLE.match(lines[0])) and not _BULLET.match(lines[0].lstrip())


def _heading(body: str) -> str | None:
    lines = body.strip().split("\n")
    markdown = _MARKDOWN_HEADING.match(lines[0].strip())
    if markdown and len(lines) == 1:
        return markdown["title"]
    if len(lines) == 2 and _UNDERLINE.match(lines[1]):
        return lines[0].strip()
    return lines[0].strip() if len(lines) == 1 and _TITLE.match(lines[0]) else None


def _is_code(body: str) -> bool:
    lines = body.splitlines()
    marked = sum(bool(_CODE.search(line)) for line in lines)
    return marked * 2 >= len(lines) or (body.isascii() and _prose(body) < 0.1)


def _is_literal(body: str, above: str) -> bool:
    """Whether a block is the example that the prose above it announces."""
    announced = above.rstrip()[-1:] not in {".", "!", "?", '"', ")"} and above != ""
    return announced and _indent(body) > _indent(above) and _prose(body) < 0.25


def _indent(body: str) -> int:
    lines = [line for line in body.splitlines() if line.strip()]
    return min((len(line) - len(line.lstrip()) for line in lines), default=0)


def _prose(body: str) -> float:
    """Give the share of function words, about 0.4 in English prose; 1.0 for a few words."""
    found = [word.lower() for word in _LETTERS.findall(body)]
    if len(found) < _FEW_WORDS:
        return 1.0 if found else 0.0
    return sum(word in _FUNCTION_WORDS for word in found) / len(found)


def _sentence_spans(text: str, block: _Block) -> Iterator[tuple[int, int]]:
    start = _skip(text, block.start, block.end)
    for match in _END.finditer(text, start, block.end):
        if match.end() <= start or _goes_on(text, match):
            continue
        yield start, match.end()
        start = _skip(text, match.end(), block.end)
    end = start + len(text[start : block.end].rstrip())
    if end > start:
        yield start, end


def _skip(text: str, start: int, end: int) -> int:
    """Step over white space, bullets and footnote marks in front of a sentence."""
    while start < end:
        if text[start].isspace():
            start += 1
            continue
        bullet = _BULLET.match(text, start, end)
        if bullet is None:
            return start
        start = bullet.end()
    return start


def _goes_on(text: str, match: re.Match[str]) -> bool:
    """Whether a full stop belongs to an abbreviation or the next word goes on in lower case."""
    word = text[max(0, match.start() - 8) : match.start() + 1]
    if match.group()[0] == "." and _ABBREVIATION.search(word):
        return True
    following = text[match.end() : match.end() + 40].lstrip()
    return bool(following) and following[0].islower()


_HYPHEN: Final = re.compile(r"(?<=\w)-\s*\n\s*(?=[^\W\d])")
_SPACE: Final = re.compile(r"\s+")
_EMPHASIS: Final = re.compile(r"(?<![\w*])(\*{1,2})(?=[^\s*])([^*\n]+?)(?<=[^\s*])\1(?![\w*])")
_FOOTNOTE: Final = re.compile(r"\s*\[\d+\](?=\W|$)")


def readable(quote: str) -> str:
    """Write a quote as running text: unwrapped, without footnotes and emphasis, ended by a stop."""
    text = _SPACE.sub(" ", _HYPHEN.sub("-", quote)).strip()
    text = _FOOTNOTE.sub("", _EMPHASIS.sub(r"\2", text)).strip()
    text = re.sub(r"\s*[:;,\u2013-]+$", ".", text)
    return text if re.search(r"[.!?…。\uff01\uff1f][\"'”\u2019»)\]`]*$", text) else f"{text}."
