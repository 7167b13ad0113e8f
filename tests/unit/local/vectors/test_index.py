from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.vectors.filters import compile_filter
from local.vectors.index import Metric, VectorIndex
from local.vectors.store import VectorStore


def made(metric: Metric = "cosine", dimension: int = 2) -> VectorIndex:
    store = VectorStore(now=lambda: datetime(2026, 12, 1, tzinfo=UTC))
    bucket = store.create_bucket("documents")
    return store.create_index(bucket, "passages", dimension, metric, searchable=(("text", "en"),))


def filled(metric: Metric = "cosine") -> VectorIndex:
    index = made(metric)
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1]], dtype=np.float32)
    about = [{"text": "the loop ends"}, {"text": "a loop of loops"}, {"text": "an exception"}]
    index.put(["a", "b", "c"], vectors, about)
    return index


EAST = np.array([1, 0], dtype=np.float32)


def test_the_nearest_come_first_with_their_distances() -> None:
    hits = filled().query(2, EAST, [], None)
    assert [hit.key for hit in hits] == ["a", "b"]
    assert [hit.distance for hit in hits] == pytest.approx([0.0, 0.4], abs=1e-6)
    far = filled("euclidean").query(3, EAST, [], None)[-1]
    assert far.key == "c"
    assert far.distance == pytest.approx(2**0.5)


def test_a_text_query_ranks_by_bm25_alone() -> None:
    hits = filled().query(5, None, [("text", "loops")], None)
    assert [hit.key for hit in hits] == ["b", "a"]
    assert hits[0].texts["text"] > hits[1].texts["text"]
    assert hits[0].distance is None


def test_a_hybrid_query_fuses_both_rankings_by_place() -> None:
    hits = filled().query(3, EAST, [("text", "loops")], None)
    assert [hit.key for hit in hits] == ["a", "b", "c"]
    assert hits[0].fused == pytest.approx(1 / 61 + 1 / 62)
    assert hits[0].fused == hits[1].fused
    assert hits[2].fused == pytest.approx(1 / 63)


def test_a_filter_is_applied_before_the_search() -> None:
    passes = compile_filter({"text": {"$ne": "the loop ends"}}, ())
    assert [hit.key for hit in filled().query(1, EAST, [], passes)] == ["b"]
    assert [hit.key for hit in filled().query(9, None, [("text", "loop")], passes)] == ["b"]
    assert filled().query(9, EAST, [], compile_filter({"x": 1}, ())) == []


def test_an_empty_index_finds_nothing() -> None:
    assert made().query(3, EAST, [("text", "loop")], None) == []


def test_a_replaced_vector_has_nothing_of_the_old_one() -> None:
    index = filled()
    index.put(["a"], np.array([[0, -1]], dtype=np.float32), [{}])
    assert len(index) == 3
    assert index.vector("a") == [0, -1]
    assert index.metadata("a") == {}
    assert [hit.key for hit in index.query(9, None, [("text", "ends")], None)] == []


def test_searching_a_key_can_begin_and_end_at_any_time() -> None:
    index = filled()
    index.put(["d"], np.array([[1, 1]], dtype=np.float32), [{"title": ["Red", "Book"]}])
    index.add_searchable("title", None)
    assert [hit.key for hit in index.query(9, None, [("title", "book")], None)] == ["d"]
    index.drop_searchable("title")
    assert list(index.searchable) == ["text"]


def test_segments_part_the_keys_without_gap_or_overlap() -> None:
    index = filled()
    parts = [index.segment(part, 3) for part in range(3)]
    assert sorted(key for part in parts for key in part) == index.keys


Change = tuple[str, str, int]
CHANGES = st.lists(
    st.tuples(st.sampled_from(["put", "delete"]), st.sampled_from("abcde"), st.integers(1, 9))
)


@given(CHANGES)
def test_after_any_puts_and_deletes_the_index_holds_what_a_dictionary_would(
    changes: list[Change],
) -> None:
    index, expected = made("euclidean"), dict[str, int]()
    for change, key, number in changes:
        if change == "put":
            row = np.array([[number, 0]], dtype=np.float32)
            index.put([key], row, [{"text": f"word{number}"}])
            expected[key] = number
        else:
            index.delete([key])
            expected.pop(key, None)
    assert index.keys == sorted(expected)
    assert {key: index.vector(key)[0] for key in index.keys} == expected
    found = index.query(9, None, [("text", "word5")], None)
    assert {hit.key for hit in found} == {key for key, n in expected.items() if n == 5}
    order = [hit.key for hit in index.query(9, np.zeros(2, dtype=np.float32), [], None)]
    assert order == sorted(expected, key=lambda key: (expected[key], key))


def test_the_index_grows_beyond_its_first_room_and_ties_are_by_key() -> None:
    index = made()
    keys = [f"k{number:04}" for number in range(600)]
    index.put(keys, np.ones((600, 2), dtype=np.float32), [{} for _ in keys])
    assert [hit.key for hit in index.query(3, EAST, [], None)] == keys[:3]
