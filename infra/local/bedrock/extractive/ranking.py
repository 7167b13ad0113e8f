"""Finds the run of sentences that answers a question: words shared, and closeness of meaning."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from local.bedrock.embeddings import wordllama
from local.bedrock.extractive.prompt import Passage
from local.bedrock.extractive.sentences import Sentence, sentences
from local.bedrock.lexical import STOP_WORDS, stem, terms, words

_QUOTED: Final = re.compile(r'"(\w+)"')
_VERB_FIRST: Final = re.compile(
    r"(?:Called|Returns?|Gives?|Sets?|Makes?|Implements?|Remove|True if)\b"
)
_LONGEST_RUN: Final = 3
_SHORTEST_SENTENCE: Final = 4
_LONG: Final = 12

# Weights of what speaks for a run; tuned on questions about Python's language reference.
_COVERAGE: Final = 0.55
_HEADING: Final = 0.6
_PHRASES: Final = 0.2
_MEANING: Final = 0.4
_SUBJECT: Final = 0.25
_OTHER_FORM: Final = 0.6
_NO_ARTICLE: Final = 0.8
_INTRODUCES: Final = 0.05
_RANK: Final = 0.05
_LATER: Final = 0.015
_LATE: Final = 6
_CHAINED: Final = 0.03
_CUE: Final = 0.15
# What one more sentence must bring to be worth reading.
_MORE_COVERAGE: Final = 0.25
_MORE_MEANING: Final = 0.15
_MORE_PRICE: Final = 0.14
_READS_ON: Final = 0.05
# Of the best sentence's share, what the first must have for the run to begin with it.
_LEADS_IN: Final = 0.35
_SAME_MATTER: Final = 0.25
_OTHER_MATTER: Final = 0.05
_MORE_AT_MOST: Final = 0.06
# What speaks against it.
_LEANS_BACK: Final = 0.12
_ANNOUNCES: Final = 0.12
_UNFINISHED: Final = 0.2
_SMALLEST_WEIGHT: Final = 1.0

_BACKWARD: Final = re.compile(
    r"(?:this|these|those|it|its|they|such|however|otherwise|also|in (?:this|that|such|the) case"
    r"|then|therefore|thus|hence|likewise|similarly|but|and|or|so|for (?:example|instance)|see"
    r"|changed|new|note|hint|deprecated|conversely|instead|(?:the )?(?:former|latter)|pep)\b",
    re.IGNORECASE,
)
_RELATIVE: Final = re.compile(r"\b(?:another|also|again|above|instead|such|same)\b", re.IGNORECASE)
_ABOUT: Final = re.compile(
    r"^\W*(?:what(?:['\u2019]s| is| are| does| do)|define|who is|how (?:does|do) .* work"
    r"|are|is|do|does|can)\b",
    re.IGNORECASE,
)
_PREPOSITION: Final = re.compile(r"(?:in|for|with|by|from|on|at|of|to|as|when|if)\b", re.IGNORECASE)
_CONDITION: Final = re.compile(
    r"^\W*(?:when|under which|in which case|what happens (?:when|if))\b", re.IGNORECASE
)
_CONDITIONAL: Final = re.compile(r"\b(?:when|whenever|if|after|before|once|until|unless)\b", re.I)
_NAMED: Final = re.compile(
    r"\b(?:called|known as|named|termed|define[sd]?)\s+(?:an?\s|the\s)?\W?(?P<name>[\w -]{2,40})",
    re.IGNORECASE,
)
_FINISHED: Final = re.compile(r"[.!?…。\uff01\uff1f:][\"'”\u2019»)\]*`]*\Z")
_ANNOUNCEMENT: Final = re.compile(r":\Z|\b(?:as follows|the following|as if)\W*\Z", re.IGNORECASE)
_ANY: Final = frozenset(("a", "an"))
_MEASURE: Final = re.compile(
    r"\bhow (?:long|many|much|often|far|old|big|large|high|fast)\b", re.IGNORECASE
)
# Words of asking that say nothing about what is asked.
_ASKING: Final = frozenset(
    stem(word)
    for word in words("purpose reason way kind sort exactly considered definition policy rule")
)


Rarity = Callable[[str], float]


@dataclass(frozen=True)
class Run:
    """Neighbouring sentences of one passage.

    Attributes:
        passage: where they stand.
        first: the first of them.
        last: the last of them, perhaps the same.
        score: how well they answer, for ordering.
        coverage: the share of the question's weight that they or their heading mention, 0 to 1.
        meaning: the cosine of the question and the closest of them, -1 to 1.
    """

    passage: Passage
    first: Sentence
    last: Sentence
    score: float
    coverage: float
    meaning: float

    @property
    def quote(self) -> str:
        """The words exactly as they stand in the passage."""
        return self.passage.text[self.first.start : self.last.end]

    @property
    def lacks_subject(self) -> bool:
        """Whether the quote begins with a verb, its subject being the signature above it."""
        return bool(_VERB_FIRST.match(self.quote))


@dataclass(frozen=True)
class _Candidate:
    passage: Passage
    rank: float
    place: int
    opens: bool
    sentence: Sentence
    stems: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    heading: frozenset[str]

    @property
    def text(self) -> str:
        return self.passage.text[self.sentence.start : self.sentence.end]


class _Question:
    """A question with the weight of each of its words among these sentences."""

    def __init__(self, text: str, candidates: Sequence[_Candidate]) -> None:
        text = _MEASURE.sub("how", text)
        named = frozenset(word for c in candidates for word in c.heading)
        asked = {word: 1.0 for word in terms(text) if word not in _ASKING}
        # "for" and "while" are empty words except where a heading is about them.
        asked |= {w: 0.5 for w in words(text) if w in STOP_WORDS and f'"{w}"' in named}
        rarity, among_passages = _rarities(candidates)
        self.weights = {
            word: part * (max(rarity(word), _SMALLEST_WEIGHT) + among_passages(word))
            for word, part in asked.items()
        }
        self.total = sum(self.weights.values())
        self.pairs = _pairs(text)
        self.spoken = frozenset(words(text)) - STOP_WORDS
        self.is_any = not _ANY.isdisjoint(words(text))
        self.is_about = bool(_ABOUT.match(text)) and len(asked) <= 5
        self.asks_when = bool(_CONDITION.match(text))

    def share(self, found: frozenset[str], below: frozenset[str] = frozenset()) -> float:
        """Give the share of the question's weight in some words, less for words of a heading."""
        if not self.total:
            return 0.0
        said = sum(weight for word, weight in self.weights.items() if word in found)
        told = sum(weight for word, weight in self.weights.items() if word in below - found)
        return (said + _HEADING * told) / self.total


def _rarities(candidates: Sequence[_Candidate]) -> tuple[Rarity, Rarity]:
    """Give how rare a word is among the sentences, and among the passages with their headings."""
    passages: dict[str, frozenset[str]] = {}
    for c in candidates:
        passages[c.passage.id] = passages.get(c.passage.id, c.heading) | c.stems
    return _rarity([c.stems for c in candidates]), _rarity(list(passages.values()))


def _rarity(texts: Sequence[frozenset[str]]) -> Rarity:
    seen = Counter(word for text in texts for word in text)
    return lambda word: math.log(1 + (len(texts) - seen[word] + 0.5) / (seen[word] + 0.5))


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    """Give neighbouring words, the second of which carries meaning."""
    found = pairwise(words(text))
    return frozenset(
        (stem(a), stem(b)) for a, b in found if b not in STOP_WORDS and a not in {"a", "an", "the"}
    )


def best_runs(question: str, passages: Sequence[Passage]) -> list[Run]:
    """Give the runs of one to three sentences, best first; equal scores keep reading order."""
    candidates = [
        candidate
        for index, passage in enumerate(passages)
        for candidate in _candidates(passage, 1 - index / len(passages))
    ]
    if not candidates:
        return []
    asked = _Question(question, candidates)
    rows = wordllama().embed([question, *(c.text for c in candidates)])
    meanings = (rows[1:] @ rows[0]).tolist()
    runs = [_score(asked, candidates, meanings, window) for window in _windows(candidates)]
    return sorted(runs, key=lambda run: -run.score)


def _takes_up(asked: _Question, candidates: Sequence[_Candidate], index: int) -> bool:
    """Whether a sentence goes on about something that the two before it brought up."""
    here = candidates[index]
    before = candidates[max(0, index - min(here.place, 2)) : index]
    said = frozenset[str]().union(*(c.stems for c in before))
    return bool((here.stems & said) - asked.weights.keys())


def _candidates(passage: Passage, rank: float) -> Iterator[_Candidate]:
    paragraph, place = -1, 0
    for number, sentence in enumerate(sentences(passage.text)):
        place = place + 1 if sentence.paragraph == paragraph else 0
        paragraph = sentence.paragraph
        text = passage.text[sentence.start : sentence.end]
        spoken = len(words(text))
        if spoken < _SHORTEST_SENTENCE or (spoken < _LONG and _ANNOUNCEMENT.search(text)):
            continue
        heading = f"{passage.heading} {sentence.heading} {sentence.signature}"
        marks = frozenset([*_stems(heading), *(f'"{word}"' for word in _QUOTED.findall(heading))])
        yield _Candidate(
            passage, rank, place, number == 0, sentence, _stems(text), _pairs(text), marks
        )


def _stems(text: str) -> frozenset[str]:
    return frozenset([*terms(text), *_QUOTED.findall(text)])


def _windows(candidates: Sequence[_Candidate]) -> Iterator[range]:
    for first, start in enumerate(candidates):
        for end in range(first, min(first + _LONGEST_RUN, len(candidates))):
            last = candidates[end]
            if last.passage is not start.passage:
                break
            if last.sentence.paragraph != start.sentence.paragraph:
                break
            yield range(first, end + 1)


def _score(
    asked: _Question, candidates: Sequence[_Candidate], meanings: Sequence[float], window: range
) -> Run:
    inside = [candidates[index] for index in window]
    first, last = inside[0], inside[-1]
    said = frozenset[str]().union(*(c.stems for c in inside))
    coverage = asked.share(said, first.heading)
    meaning = max(meanings[index] for index in window)
    more = sum(_worth(asked, candidates[index], meanings[index]) for index in window[1:])
    more = min(more, _MORE_AT_MOST)
    shares = [asked.share(c.stems, c.heading) for c in inside]
    if shares[0] < _LEADS_IN * max(shares) and not _VERB_FIRST.match(first.text):
        more = min(more, 0) - _OTHER_MATTER
    score = (
        _COVERAGE * coverage
        + _MEANING * meaning
        + _PHRASES * _phrases(asked, inside)
        + _RANK * first.rank
        - _LATER * min(first.place, _LATE)
        - _CHAINED * _takes_up(asked, candidates, window.start)
        + _form(asked, inside)
        + more
    )
    return Run(first.passage, first.sentence, last.sentence, score, coverage, meaning)


def _worth(asked: _Question, candidate: _Candidate, meaning: float) -> float:
    share = asked.share(candidate.stems)
    worth = _MORE_COVERAGE * share + _MORE_MEANING * meaning - _MORE_PRICE
    if _RELATIVE.search(candidate.text):
        worth -= _LEANS_BACK / 4
    if _BACKWARD.match(_opening(candidate.text)):
        return worth + _READS_ON
    return worth if share >= _SAME_MATTER else worth - _OTHER_MATTER


def _phrases(asked: _Question, inside: Sequence[_Candidate]) -> float:
    if not asked.pairs:
        return 0.0
    said = frozenset[tuple[str, str]]().union(*(c.pairs for c in inside))
    return len(asked.pairs & said) / len(asked.pairs)


def _form(asked: _Question, inside: Sequence[_Candidate]) -> float:
    """Judge how a run reads: standing on its own, finished, shaped like what is asked."""
    first, last = inside[0].text, inside[-1].text
    score = 0.0
    if _BACKWARD.match(_opening(first)):
        score -= _LEANS_BACK
    elif _RELATIVE.search(" ".join(first.split()[:8])):
        score -= _LEANS_BACK / 2
    if not _FINISHED.search(last):
        score -= _UNFINISHED
    if _ANNOUNCEMENT.search(first) or _ANNOUNCEMENT.search(last):
        score -= _ANNOUNCES
    if asked.asks_when and _CONDITIONAL.search(first):
        score += _CUE if _CONDITIONAL.match(_opening(first)) else _CUE / 2
    if asked.is_about and inside[0].opens:
        score += _INTRODUCES
    if asked.is_about and not _PREPOSITION.match(first):
        score += _SUBJECT * _is_subject(asked, inside[0])
    return score


def _opening(text: str) -> str:
    return text.lstrip(" \t\n\"'(*")


def _is_subject(asked: _Question, candidate: _Candidate) -> float:
    """Give how much of the question a sentence has as its subject, or gives a name to."""
    opening = candidate.text.split()[:5]
    start, beginning = " ".join(opening[:3]), " ".join(opening)
    subject = (asked.share(_stems(start)) + asked.share(_stems(beginning))) / 2
    if asked.spoken.isdisjoint(words(start)):
        subject *= _OTHER_FORM
    elif asked.is_any and opening[0].lower() not in _ANY:
        subject *= _NO_ARTICLE
    if candidate.sentence.signature and _VERB_FIRST.match(beginning):
        subject = max(subject, asked.share(_stems(candidate.sentence.signature)))
    named = (_named(asked, match["name"]) for match in _NAMED.finditer(candidate.text))
    return max(subject, *named, 0.0)


def _named(asked: _Question, name: str) -> float:
    stems = _stems(name)
    about = len(stems & asked.weights.keys()) / max(len(stems), 1)
    return asked.share(stems) * about
