"""BM25 over texts that come and go, kept up to date text by text.

A ready-made index would have to be built anew after each put, and importing one costs more than
scoring a few thousand passages.
"""

import math
from collections import Counter
from collections.abc import Callable

from local.bedrock.lexical import terms, words

Analyzer = Callable[[str], list[str]]

_K1 = 1.2
_B = 0.75


def analyzer_for(language: str | None) -> Analyzer:
    """Give the analyzer of a language: English drops stop words and inflection, others do not."""
    return terms if language == "en" else words


class Bm25:
    """Scores texts by key against a query; k1 = 1.2, b = 0.75."""

    def __init__(self, analyze: Analyzer) -> None:
        self._analyze = analyze
        self._postings: dict[str, dict[str, int]] = {}
        self._texts: dict[str, Counter[str]] = {}
        self._lengths: dict[str, int] = {}
        self._total = 0
        self._pending: dict[str, str] = {}

    def put(self, key: str, text: str) -> None:
        """Note a text; it is analysed when the next query needs it."""
        self.remove(key)
        self._pending[key] = text

    def remove(self, key: str) -> None:
        """Forget a text; a key that is not there is no error."""
        self._pending.pop(key, None)
        counts = self._texts.pop(key, None)
        if counts is None:
            return
        self._total -= self._lengths.pop(key)
        for word in counts:
            posting = self._postings[word]
            del posting[key]
            if not posting:
                del self._postings[word]

    def warm(self) -> None:
        """Analyse what was put since the last query."""
        pending, self._pending = self._pending, {}
        for key, text in pending.items():
            counts = Counter(self._analyze(text))
            self._texts[key] = counts
            self._lengths[key] = length = counts.total()
            self._total += length
            for word, count in counts.items():
                self._postings.setdefault(word, {})[key] = count

    def scores(self, query: str) -> dict[str, float]:
        """Give the score of each text that shares a word with the query, all above 0."""
        self.warm()
        found: dict[str, float] = {}
        average = self._total / len(self._texts) if self._texts else 1.0
        for word, times in Counter(self._analyze(query)).items():
            posting = self._postings.get(word)
            if posting:
                self._add(found, posting, times, average)
        return found

    def _add(
        self, found: dict[str, float], posting: dict[str, int], times: int, average: float
    ) -> None:
        seen, lengths = len(posting), self._lengths
        rarity = times * math.log(1 + (len(self._texts) - seen + 0.5) / (seen + 0.5))
        flat, slope = _K1 * (1 - _B), _K1 * _B / (average or 1.0)
        for key, count in posting.items():
            norm = flat + slope * lengths[key]
            found[key] = found.get(key, 0.0) + rarity * count * (_K1 + 1) / (count + norm)
