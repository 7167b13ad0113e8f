"""The vector index on S3 Vectors: by vector, and by words too where the index is ENHANCED."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from autoops.adapters.aws import client, translated
from autoops.config import settings
from autoops.domain.passages import Chunk, EmbeddedChunk, Passage

if TYPE_CHECKING:
    from mypy_boto3_s3vectors import S3VectorsClient

PER_PUT: Final = 500
TENANT: Final = "tenant"
WORDS_CHARACTERS: Final = 1_000


class S3VectorIndex:
    """`autoops.ports.VectorIndex` on an index of a vector bucket."""

    def __init__(
        self, s3vectors: "S3VectorsClient", bucket: str, index: str, *, words: bool
    ) -> None:
        self._s3vectors = s3vectors
        self._words = words
        self._where: dict[str, Any] = {"vectorBucketName": bucket, "indexName": index}

    def put(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """See `VectorIndex.put`."""
        for start in range(0, len(chunks), PER_PUT):
            vectors = [_vector(chunk) for chunk in chunks[start : start + PER_PUT]]
            self._call("put_vectors", vectors=vectors)

    def delete(self, keys: Sequence[str]) -> None:
        """See `VectorIndex.delete`."""
        for start in range(0, len(keys), PER_PUT):
            self._call("delete_vectors", keys=list(keys[start : start + PER_PUT]))

    def query(
        self, tenant: str, text: str, vector: Sequence[float], most: int
    ) -> tuple[Passage, ...]:
        """See `VectorIndex.query`."""
        words = [{"metadataKey": "text", "text": text[:WORDS_CHARACTERS]}]
        answer = self._call(
            "query_vectors",
            topK=most,
            queryVector={"float32": list(vector)},
            **({"queryTexts": words} if self._words else {}),
            filter={TENANT: tenant},
            returnMetadata=True,
            returnDistance=True,
        )
        return tuple(
            _passage(number, found, len(answer["vectors"]))
            for number, found in enumerate(answer["vectors"], start=1)
        )

    def _call(self, operation: str, **arguments: Any) -> Any:
        try:
            return getattr(self._s3vectors, operation)(**self._where, **arguments)
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "s3vectors") from error


@cache
def vector_index() -> S3VectorIndex:
    """The index of this process."""
    return S3VectorIndex(
        client("s3vectors"),
        settings().vector_bucket,
        settings().vector_index,
        words=settings().text_search == "on",
    )


def _vector(embedded: EmbeddedChunk) -> dict[str, Any]:
    chunk = embedded.chunk
    return {
        "key": chunk.key,
        # A 32-bit float below 1 has no more than eight decimals; the rest only makes longer JSON.
        "data": {"float32": [round(number, 8) for number in embedded.vector]},
        "metadata": {
            TENANT: chunk.key.split("/", 1)[0],
            "document": chunk.document,
            "title": chunk.title,
            "place": chunk.place,
            "text": chunk.text,
        },
    }


def _passage(number: int, found: Any, of: int) -> Passage:
    metadata = found["metadata"]
    chunk = Chunk(
        key=found["key"],
        document=metadata["document"],
        title=metadata["title"],
        place=metadata["place"],
        text=metadata["text"],
    )
    # The index ranks by fusing two orders and tells only the vector's distance: rank is the score.
    return Passage(id=f"p{number}", chunk=chunk, score=(of - number + 1) / of)
