import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from integration.local.serving import aws_client, served
from local.bedrock.embeddings import wordllama
from local.vectors.app import vectors_app
from local.vectors.store import VectorStore

if TYPE_CHECKING:
    from mypy_boto3_s3vectors import S3VectorsClient

TEXTS = {
    "try#1": "When an exception occurs, the finally clause is executed.",
    "for#1": "The else clause of a loop runs when the items are used up.",
    "with#1": "A context manager wraps the execution of a block.",
}
# The stubs do not know text search yet.
SEARCHABLE: Any = {
    "nonFilterableMetadataKeys": ["text"],
    "textSearchConfigurations": [{"metadataKey": "text", "language": "en"}],
}
PLACE: Any = {"vectorBucketName": "documents", "indexName": "passages"}


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with served(vectors_app(VectorStore(now=lambda: datetime.now(UTC)))) as base:
        yield base


@pytest.fixture
def client(url: str) -> "Iterator[S3VectorsClient]":
    made = aws_client("s3vectors", url)
    yield made
    made.close()


def fill(client: "S3VectorsClient") -> None:
    client.create_vector_bucket(vectorBucketName="documents")
    client.create_index(
        **PLACE,
        dataType="float32",
        dimension=256,
        distanceMetric="cosine",
        metadataConfiguration=SEARCHABLE,
    )
    rows = wordllama().embed(list(TEXTS.values()))
    client.put_vectors(
        **PLACE,
        vectors=[
            {
                "key": key,
                "data": {"float32": row.tolist()},
                "metadata": {"text": text, "tenant": "a"},
            }
            for (key, text), row in zip(TEXTS.items(), rows, strict=True)
        ],
    )


async def test_boto3_finds_passages_by_meaning_and_words_together(
    client: "S3VectorsClient",
) -> None:
    await asyncio.to_thread(fill, client)
    question = "What happens to the loop's else?"
    query: Any = client.query_vectors
    answer = await asyncio.to_thread(
        query,
        **PLACE,
        topK=2,
        queryVector={"float32": wordllama().embed([question])[0].tolist()},
        queryTexts=[{"text": question, "metadataKey": "text"}],
        filter={"tenant": "a"},
        returnMetadata=True,
        returnDistance=True,
        returnScores=True,
    )
    best = answer["vectors"][0]
    assert best["key"] == "for#1"
    assert best["metadata"] == {"text": TEXTS["for#1"], "tenant": "a"}
    assert 0 < best["distance"] < 1
    assert best["scores"]["fused"] == pytest.approx(2 / 61)
    assert answer["distanceMetric"] == "cosine"


async def test_boto3_manages_indexes_and_vectors(client: "S3VectorsClient") -> None:
    await asyncio.to_thread(fill, client)
    index = (await asyncio.to_thread(client.get_index, **PLACE))["index"]
    assert index["indexMode"] == "ENHANCED"
    assert index["dimension"] == 256
    assert index["creationTime"].tzinfo is not None
    arn = index["indexArn"]
    await asyncio.to_thread(client.delete_vectors, indexArn=arn, keys=["try#1", "nobody"])
    left = await asyncio.to_thread(client.list_vectors, indexArn=arn)
    assert [vector["key"] for vector in left["vectors"]] == ["for#1", "with#1"]
    got = await asyncio.to_thread(
        client.get_vectors, indexArn=arn, keys=["with#1", "try#1"], returnData=True
    )
    assert [len(vector["data"]["float32"]) for vector in got["vectors"]] == [256]
    await asyncio.to_thread(client.delete_index, indexArn=arn)
    await asyncio.to_thread(client.delete_vector_bucket, vectorBucketName="documents")
    buckets = await asyncio.to_thread(client.list_vector_buckets)
    assert buckets["vectorBuckets"] == []


async def test_boto3_sees_the_services_own_exceptions(client: "S3VectorsClient") -> None:
    await asyncio.to_thread(fill, client)
    with pytest.raises(client.exceptions.ValidationException, match="must have length 256"):
        await asyncio.to_thread(
            client.query_vectors, **PLACE, topK=1, queryVector={"float32": [1.0, 0.0]}
        )
    with pytest.raises(client.exceptions.NotFoundException):
        await asyncio.to_thread(client.get_index, **{**PLACE, "indexName": "nobody"})
