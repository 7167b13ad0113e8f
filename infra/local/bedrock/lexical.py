"""Words as search sees them: lower case, without inflection, stop words known."""

import functools
import re
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+(?:_+[^\W_]+)*", re.UNICODE)

STOP_WORDS: Final = frozenset(
    """a about after all also am an and any are as at be because been before being both but by can
    cannot could did do does doing done each e eg etc for from further g had has have having he her
    here how i if in into is it its itself just like may me might more most must my no nor not of on
    once one only or other our out over own s same shall she should so some such t than that the
    their them then there these they this those through to too under until up use used using very
    was we were what when where whether which while who whom whose why will with would you your
    happen happens mean means tell explain describe please get work works""".split()  # noqa: SIM905 - words, read as one
)

# Longest first; what remains has at least three characters and a vowel.
_ENDINGS: Final = (
    ("ations", "ate"),
    ("ation", "ate"),
    ("utions", "ute"),
    ("ution", "ute"),
    ("ies", "y"),
    ("ied", "y"),
    ("sses", "ss"),
    ("ing", ""),
    ("ed", ""),
    ("es", ""),
    ("s", ""),
    ("e", ""),
)
_KEEP: Final = ("ss", "us", "is")
_VOWEL: Final = re.compile(r"[aeiouy]")


def words(text: str) -> list[str]:
    """Give the words of a text in order, lower case; `f_globals` is one word, `for-loop` two."""
    return _WORD.findall(text.lower())


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Take the inflection off an English word: executed, executes and execution become execut."""
    if len(word) < 4 or not word.isalpha() or word.endswith(_KEEP):
        return word
    for ending, instead in _ENDINGS:
        root = word.removesuffix(ending) + instead
        if word.endswith(ending) and len(root) >= 3 and _VOWEL.search(root):
            return _even(root)
    return word


def _even(root: str) -> str:
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz":
        return root[:-1]
    return root.removesuffix("e") if len(root) > 3 else root


def terms(text: str) -> list[str]:
    """Give the stems of the words that carry meaning."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS]
