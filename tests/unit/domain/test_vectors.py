"""Vectors packed into text and back."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.domain.vectors import Vectors
from autoops.errors import InvalidInput

floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
rows = st.integers(1, 8).flatmap(
    lambda width: st.lists(st.lists(floats, min_size=width, max_size=width), max_size=6)
)


@given(rows)
def test_vectors_come_back_as_they_went_in(vectors: list[list[float]]) -> None:
    assert Vectors.pack(vectors).rows() == tuple(map(tuple, vectors))


def test_vectors_of_different_lengths_do_not_mix() -> None:
    with pytest.raises(InvalidInput, match="different lengths"):
        Vectors.pack([[1.0], [1.0, 2.0]])


@pytest.mark.parametrize("data", [base64.b64encode(b"\0" * 12).decode(), "AAAA", "not base64!"])
def test_vectors_cut_off_on_their_way_are_refused(data: str) -> None:
    with pytest.raises(InvalidInput, match="vectors"):
        Vectors(dimensions=2, data=data).rows()
