from typing import Any

import pytest

from local.rest import ServiceError
from local.vectors.filters import compile_filter

BOOK = {"tenant": "a", "year": 2020, "tags": ["red", "blue"], "open": True}


@pytest.mark.parametrize(
    ("document", "passes"),
    [
        ({"tenant": "a"}, True),
        ({"tenant": {"$eq": "b"}}, False),
        ({"tenant": {"$ne": "b"}}, True),
        ({"missing": {"$ne": "b"}}, True),
        ({"missing": "b"}, False),
        ({"tags": "red"}, True),
        ({"tags": {"$in": ["green", "blue"]}}, True),
        ({"tags": {"$nin": ["green", "blue"]}}, False),
        ({"year": {"$gte": 2020, "$lt": 2021}}, True),
        ({"year": {"$gt": 2020}}, False),
        ({"year": {"$lte": 2019}}, False),
        ({"tenant": {"$gt": 1}}, False),
        ({"open": True}, True),
        ({"open": 1}, False),
        ({"year": {"$exists": True}, "missing": {"$exists": False}}, True),
        ({"$and": [{"tenant": "a"}, {"year": 2020}]}, True),
        ({"$or": [{"tenant": "b"}, {"$and": [{"year": 2020}, {"tags": "green"}]}]}, False),
    ],
)
def test_a_filter_tells_whether_metadata_passes(document: dict[str, Any], passes: bool) -> None:
    assert compile_filter(document, ())(BOOK) is passes


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        "tenant",
        {"tenant": {}},
        {"tenant": {"$like": "a"}},
        {"tenant": {"$in": []}},
        {"tenant": {"$eq": {"a": 1}}},
        {"year": {"$gt": "2020"}},
        {"year": {"$exists": 1}},
        {"$and": []},
        {"$or": {"tenant": "a"}},
        {"$not": {"tenant": "a"}},
        {"text": "a"},
    ],
)
def test_a_malformed_or_forbidden_filter_is_refused(document: object) -> None:
    with pytest.raises(ServiceError, match="Invalid filter"):
        compile_filter(document, {"text"})
