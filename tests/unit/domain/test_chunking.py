"""Chunks hold all of a document's words, are small enough, and say where they stand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.domain.chunking import CHUNK_CHARACTERS, LONGEST_CHARACTERS, chunks_of
from autoops.domain.passages import Chunk, DocumentState, DocumentText

lines = st.one_of(
    st.sampled_from(["", " ", "\t", "# Heading", "    indented", "A yak is an ox. It has hair."]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=40),
    st.builds(
        lambda word, times: (word + " ") * times, st.text("abc.!?", min_size=1), st.integers(1, 400)
    ),
)
pages = st.lists(lines, max_size=40).map("\n".join)


def cut(*texts: str, document: str = "yaks.md") -> tuple[Chunk, ...]:
    return chunks_of(
        "default",
        DocumentText(document=document, title="Yaks", state=DocumentState.OK, pages=texts),
    )


def bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


@given(st.lists(pages, min_size=1, max_size=3))
def test_no_text_is_lost_but_white_space(texts: list[str]) -> None:
    assert bare("".join(chunk.text for chunk in cut(*texts))) == bare("".join(texts))


@given(pages)
def test_no_chunk_is_blank_or_over_the_limit(page: str) -> None:
    for chunk in cut(page):
        assert chunk.text.strip()
        assert len(chunk.text) <= LONGEST_CHARACTERS


@given(pages)
def test_a_chunk_stands_in_the_lines_it_names(page: str) -> None:
    all_lines = page.split("\n")
    for chunk in cut(page):
        first, last = _lines(chunk.place)
        named = all_lines[first - 1 : last]
        assert bare(chunk.text) in bare("".join(named))
        assert bare(named[0])
        assert bare(named[-1])


@given(pages, pages)
def test_pages_name_the_place_of_a_document_that_has_them(one: str, two: str) -> None:
    places = [chunk.place for chunk in cut(one, two)]
    assert set(places) <= {"page 1", "page 2"}
    assert places == sorted(places)


@given(pages)
def test_a_document_cut_twice_has_the_same_keys_each_once(page: str) -> None:
    keys = [chunk.key for chunk in cut(page)]
    assert keys == [chunk.key for chunk in cut(page)]
    assert keys == sorted(set(keys))
    assert all(key.startswith("default/") for key in keys)


def test_two_documents_never_share_a_key() -> None:
    (one,), (two,) = cut("Yak.", document="a/b.md"), cut("Yak.", document="a-b.md")
    assert one.key != two.key


def test_short_paragraphs_are_put_together() -> None:
    (chunk,) = cut("# Yaks\n\nA yak is an ox.\n\nIt has hair.")
    assert (chunk.place, chunk.text) == ("lines 1-5", "# Yaks\n\nA yak is an ox.\n\nIt has hair.")


def test_paragraphs_far_apart_do_not_make_a_chunk_over_the_limit() -> None:
    chunks = cut("One." + "\n" * 5_000 + "Two.")
    assert [(chunk.place, chunk.text) for chunk in chunks] == [
        ("line 1", "One."),
        ("line 5001", "Two."),
    ]


def test_a_long_paragraph_is_cut_at_a_sentence_end() -> None:
    chunks = cut("A yak is an ox with long hair. " * 200)
    assert len(chunks) > 1
    assert all(chunk.text.endswith("hair.") for chunk in chunks)
    assert all(len(chunk.text) <= LONGEST_CHARACTERS for chunk in chunks)


def test_a_text_without_any_gap_is_cut_at_the_limit() -> None:
    assert [len(chunk.text) for chunk in cut("x" * 5_000)] == [1_200, 1_200, 1_200, 1_400]


def test_a_line_end_at_the_cut_belongs_to_the_chunk_before() -> None:
    chunks = cut("x" * CHUNK_CHARACTERS + "\n" + "y" * CHUNK_CHARACTERS)
    assert [chunk.place for chunk in chunks] == ["line 1", "line 2"]


@pytest.mark.parametrize("page", ["", "  ", "\n\n \n"])
def test_a_document_without_text_has_no_chunk(page: str) -> None:
    assert cut(page) == ()


def test_a_big_text_in_one_paragraph_is_cut_in_one_pass() -> None:
    assert len(cut("word " * 1_000_000)) > 4_000


def _lines(place: str) -> tuple[int, int]:
    found = re.fullmatch(r"lines? (\d+)(?:-(\d+))?", place)
    assert found, place
    return int(found[1]), int(found[2] or found[1])
