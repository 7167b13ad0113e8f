import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from local.vectors.app import vectors_app
from local.vectors.store import VectorStore

NAMES = {"vectorBucketName": "documents", "indexName": "passages"}
INDEX = {
    **NAMES,
    "dataType": "float32",
    "dimension": 2,
    "distanceMetric": "cosine",
    "metadataConfiguration": {
        "nonFilterableMetadataKeys": ["text"],
        "textSearchConfigurations": [{"metadataKey": "text", "language": "en"}],
    },
}


def vector(key: str, *numbers: float, **metadata: object) -> dict[str, Any]:
    return {"key": key, "data": {"float32": list(numbers)}, "metadata": metadata}


class Api:
    """Calls the app in process."""

    def __init__(self) -> None:
        store = VectorStore(now=lambda: datetime(2026, 12, 1, tzinfo=UTC))
        self._transport = httpx.ASGITransport(vectors_app(store))

    async def __call__(self, operation: str, **body: Any) -> httpx.Response:
        return await self.send(operation, json.dumps(body))

    async def send(self, operation: str, content: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport, base_url="http://s3") as client:
            return await client.post(f"/{operation}", content=content)


@pytest.fixture
async def api() -> Api:
    made = Api()
    await made("CreateVectorBucket", vectorBucketName="documents")
    await made("CreateIndex", **INDEX)
    return made


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("CreateVectorBucket", {"vectorBucketName": "UPPER"}, "not a valid name"),
    ("CreateIndex", {**INDEX, "dimension": 0}, "dimension"),
    ("CreateIndex", {**INDEX, "dimension": True}, "dimension"),
    ("CreateIndex", {**INDEX, "distanceMetric": "manhattan"}, "cosine or euclidean"),
    ("CreateIndex", {**INDEX, "dataType": "int8"}, "float32"),
    ("CreateIndex", {**INDEX, "indexName": "a/b"}, "not a valid name"),
    ("PutVectors", {"vectors": []}, "1 to 500 vectors"),
    ("PutVectors", {"vectors": [vector("a", 1, 0)] * 501}, "1 to 500 vectors"),
    ("PutVectors", {"vectors": [vector("a", 1, 0, 0)]}, "must have length 2, but has length 3"),
    ("PutVectors", {"vectors": [vector("ok", 1, 0), vector("z", 0, 0)]}, "key 'z': zero vectors"),
    ("PutVectors", {"vectors": [vector("a", 1e39, 0)]}, "NaN or infinity"),
    ("PutVectors", {"vectors": [{"key": "a", "data": {"float32": ["x", 1]}}]}, "numbers only"),
    ("PutVectors", {"vectors": [{"key": "a"}]}, "given as float32"),
    ("PutVectors", {"vectors": [vector("", 1, 0)]}, "vectors.0.key"),
    ("PutVectors", {"vectors": [vector("a", 1, 0, n={"b": 1})]}, "metadata n must be"),
    ("PutVectors", {"vectors": [vector("a", 1, 0, n="x" * 2100)]}, "at most 2048 bytes"),
    ("PutVectors", {"vectors": [vector("a", 1, 0, text="x" * 41_000)]}, "total metadata size"),
    ("QueryVectors", {"topK": 1}, "queryVector, queryTexts, or both"),
    ("QueryVectors", {"topK": 0, "queryVector": {"float32": [1, 0]}}, "topK"),
    ("QueryVectors", {"topK": 101, "queryVector": {"float32": [1, 0]}}, "topK"),
    ("QueryVectors", {"topK": 1, "queryVector": {"float32": [1]}}, "must have length 2"),
    ("QueryVectors", {"topK": 1, "queryVector": {"float32": [0, 0]}}, "zero vectors"),
    ("QueryVectors", {"topK": 1, "queryTexts": []}, "1 to 10 texts"),
    ("QueryVectors", {"topK": 1, "queryTexts": [{"text": "a", "metadataKey": "x"}]}, "searchable"),
    (
        "QueryVectors",
        {"topK": 1, "queryTexts": [{"text": "a", "metadataKey": "text"}] * 2},
        "distinct",
    ),
    (
        "QueryVectors",
        {"topK": 1, "queryVector": {"float32": [1, 0]}, "filter": {"text": "a"}},
        "non-filterable",
    ),
    (
        "QueryVectors",
        {"topK": 1, "queryVector": {"float32": [1, 0]}, "queryMode": "CLASSIC"},
        "CLASSIC",
    ),
    (
        "QueryVectors",
        {"topK": 1, "queryVector": {"float32": [1, 0]}, "nextToken": "a"},
        "nextToken",
    ),
    ("DeleteVectors", {"keys": []}, "1 to 500 keys"),
    ("GetVectors", {"keys": ["a"] * 101}, "1 to 100 keys"),
    ("GetVectors", {"keys": ["a"], "indexArn": "arn"}, "no names besides"),
    ("ListVectors", {"maxResults": 1001}, "maxResults"),
    ("ListVectors", {"segmentCount": 2, "segmentIndex": 2}, "segmentIndex"),
    ("ListVectors", {"nextToken": "%"}, "nextToken"),
    ("UpdateIndexMode", {"indexMode": "CLASSIC"}, "before September 30, 2026"),
]


@pytest.mark.parametrize(("operation", "body", "sentence"), REFUSED)
async def test_what_s3_vectors_refuses_is_refused_with_a_reason(
    api: Api, operation: str, body: dict[str, Any], sentence: str
) -> None:
    answer = await api(operation, **{**NAMES, **body})
    assert answer.status_code == 400
    assert answer.headers["x-amzn-errortype"] == "ValidationException"
    assert sentence in answer.json()["message"]


async def test_nan_is_refused_and_nothing_of_the_put_is_stored(api: Api) -> None:
    content = (
        '{"vectorBucketName": "documents", "indexName": "passages", "vectors": ['
        '{"key": "good", "data": {"float32": [1, 0]}}, '
        '{"key": "bad", "data": {"float32": [NaN, 1]}}]}'
    )
    assert "key 'bad'" in (await api.send("PutVectors", content)).json()["message"]
    assert (await api("ListVectors", **NAMES)).json() == {"vectors": []}


@pytest.mark.parametrize(
    ("operation", "body", "status", "name"),
    [
        ("GetIndex", {"indexName": "nobody"}, 404, "NotFoundException"),
        ("ListIndexes", {"vectorBucketName": "nobody"}, 404, "NotFoundException"),
        ("CreateIndex", INDEX, 409, "ConflictException"),
        ("CreateVectorBucket", {}, 409, "ConflictException"),
        ("DeleteVectorBucket", {"indexName": None}, 409, "ConflictException"),
        ("MakeCoffee", {}, 404, "UnknownOperationException"),
    ],
)
async def test_what_is_missing_or_taken_has_its_own_error(
    api: Api, operation: str, body: dict[str, Any], status: int, name: str
) -> None:
    answer = await api(operation, **{**NAMES, **body})
    assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (status, name)


@pytest.mark.parametrize("content", ["{", "[]"])
async def test_a_body_that_is_no_object_is_refused(api: Api, content: str) -> None:
    assert (await api.send("GetIndex", content)).status_code == 400


async def test_vectors_are_listed_page_by_page(api: Api) -> None:
    await api("PutVectors", **NAMES, vectors=[vector(key, 1, 0) for key in "cabed"])
    seen, token = [], None
    while True:
        page = (await api("ListVectors", **NAMES, maxResults=2, nextToken=token)).json()
        seen.append([told["key"] for told in page["vectors"]])
        token = page.get("nextToken")
        if token is None:
            break
    assert seen == [["a", "b"], ["c", "d"], ["e"]]


async def test_scores_are_told_only_where_they_were_asked_for(api: Api) -> None:
    await api("PutVectors", **NAMES, vectors=[vector("a", 1, 0, text="a loop")])
    query: dict[str, Any] = {
        **NAMES,
        "topK": 1,
        "queryVector": {"float32": [1, 0]},
        "queryTexts": [{"text": "loops", "metadataKey": "text"}],
    }
    assert (await api("QueryVectors", **query)).json() == {
        "vectors": [{"key": "a"}],
        "distanceMetric": "cosine",
    }
    wanted = {"returnDistance": True, "returnMetadata": True, "returnScores": True}
    [hit] = (await api("QueryVectors", **query, **wanted)).json()["vectors"]
    assert hit["metadata"] == {"text": "a loop"}
    assert hit["distance"] == 0
    assert set(hit["scores"]) == {"fused", "bm25Scores", "vectorDistance"}
