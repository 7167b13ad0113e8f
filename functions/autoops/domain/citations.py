"""Hold a model's citations against the passages it was given."""

import re
from collections.abc import Iterable, Iterator

from autoops.domain.answers import Quote
from autoops.domain.passages import Citation, Passage

_SPACE = re.compile(r"\s+")


def checked(quotes: Iterable[Quote], passages: Iterable[Passage]) -> tuple[Citation, ...]:
    """The citations whose words stand in the passage they name, in order, none twice.

    White space and case do not count; everything else does.
    """
    by_id = {passage.id: passage for passage in passages}
    return tuple(dict.fromkeys(_found(quotes, by_id)))


def _found(quotes: Iterable[Quote], by_id: dict[str, Passage]) -> Iterator[Citation]:
    for quote in quotes:
        passage = by_id.get(quote.passage.strip("[] "))
        words = _folded(quote.quote)
        if passage and words and words in _folded(passage.chunk.text):
            chunk = passage.chunk
            yield Citation(
                document=chunk.document,
                title=chunk.title,
                place=chunk.place,
                quote=_SPACE.sub(" ", quote.quote).strip(),
            )


def _folded(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()
