"""A citation counts when its words stand in the passage that it names."""

import pytest

from autoops.domain.answers import Quote
from autoops.domain.citations import checked
from samples import passage

YAK = passage(1, "A Yak is\n  an ox, with LONG hair.")
OX = passage(2, "An ox ploughs.")


def quoted(words: str, name: str = "p1") -> list[str]:
    return [found.quote for found in checked([Quote(passage=name, quote=words)], [YAK, OX])]


@pytest.mark.parametrize("words", ["is an ox", "IS  AN\nOX", " long hair. ", "A Yak"])
def test_white_space_and_case_do_not_count(words: str) -> None:
    assert quoted(words) == [" ".join(words.split())]


@pytest.mark.parametrize("words", ["An ox ploughs.", "is a cow", "ox with", "hair!"])
def test_words_that_do_not_stand_in_that_passage_do_not_count(words: str) -> None:
    assert quoted(words) == []


@pytest.mark.parametrize("words", [" ", "\n", "\t "])
def test_a_quote_of_nothing_bears_nothing_out(words: str) -> None:
    assert quoted(words) == []


@pytest.mark.parametrize("name", ["p9", "", "P1x"])
def test_a_passage_that_was_not_given_cannot_be_cited(name: str) -> None:
    assert checked([Quote.model_construct(passage=name, quote="ox")], [YAK]) == ()


def test_a_passage_may_be_named_in_brackets() -> None:
    assert quoted("an ox", "[p1]") == ["an ox"]


def test_a_citation_resolves_to_document_and_place_and_counts_once() -> None:
    twice = [Quote(passage="p1", quote="an ox"), Quote(passage="p1", quote=" an  ox ")]
    (found,) = checked(twice, [YAK])
    assert (found.document, found.title, found.place) == ("yaks.md", "Yaks", "line 1")
