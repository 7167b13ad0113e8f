"""The vector buckets and indexes of the laptop, in memory."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from local.constants import ACCOUNT, PARTITION, REGION
from local.vectors.errors import conflict, invalid, not_found
from local.vectors.index import IndexSettings, Metric, VectorIndex

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_MOST_DIMENSIONS: Final = 4_096
_BUCKET_ARN: Final = re.compile(r"arn:[^:]+:s3vectors:[^:]*:\d{12}:bucket/([^/]+)")
_INDEX_ARN: Final = re.compile(rf"{_BUCKET_ARN.pattern}/index/([^/]+)")


@dataclass
class Bucket:
    """A vector bucket and its indexes by name."""

    name: str
    created: datetime
    indexes: dict[str, VectorIndex] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """The bucket's Amazon Resource Name."""
        return f"arn:{PARTITION}:s3vectors:{REGION}:{ACCOUNT}:bucket/{self.name}"


class VectorStore:
    """All vector buckets of the account.

    Args:
        now: gives the time at which buckets and indexes are made.
    """

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._buckets: dict[str, Bucket] = {}

    @property
    def buckets(self) -> list[Bucket]:
        """All buckets by name."""
        return [self._buckets[name] for name in sorted(self._buckets)]

    def create_bucket(self, name: str) -> Bucket:
        """Make a bucket.

        Raises:
            ServiceError: ValidationException for a bad name, ConflictException for a taken one.
        """
        if not _NAME.fullmatch(name):
            raise invalid(f"vectorBucketName: {name!r} is not a valid name.")
        if name in self._buckets:
            raise conflict("A vector bucket with the specified name already exists.")
        self._buckets[name] = Bucket(name, self._now())
        return self._buckets[name]

    def bucket(self, name: str | None = None, arn: str | None = None) -> Bucket:
        """Find a bucket by name or ARN.

        Raises:
            ServiceError: NotFoundException, or ValidationException when neither or both are given.
        """
        if (name is None) == (arn is None):
            raise invalid("Must specify either vectorBucketName or vectorBucketArn but not both.")
        if arn is not None:
            match = _BUCKET_ARN.fullmatch(arn)
            if match is None:
                raise invalid("vectorBucketArn: this is not the ARN of a vector bucket.")
            name = match[1]
        if name not in self._buckets:
            raise not_found("The specified vector bucket could not be found.")
        return self._buckets[name]

    def delete_bucket(self, bucket: Bucket) -> None:
        """Remove an empty bucket.

        Raises:
            ServiceError: ConflictException, it still has indexes.
        """
        if bucket.indexes:
            raise conflict("The specified vector bucket is not empty.")
        del self._buckets[bucket.name]

    def create_index(
        self,
        bucket: Bucket,
        name: str,
        dimension: int,
        metric: Metric,
        *,
        not_filterable: frozenset[str] = frozenset(),
        searchable: tuple[tuple[str, str | None], ...] = (),
    ) -> VectorIndex:
        """Make an index.

        Args:
            bucket: where.
            name: of the index, unique in the bucket.
            dimension: how many numbers each vector has, 1 to 4,096.
            metric: how distances are measured.
            not_filterable: metadata keys that no filter may name.
            searchable: metadata keys that text queries search, each with its language or None.

        Raises:
            ServiceError: ValidationException for a bad value, ConflictException for a taken name.
        """
        if not _NAME.fullmatch(name):
            raise invalid(f"indexName: {name!r} is not a valid name.")
        if not 1 <= dimension <= _MOST_DIMENSIONS:
            raise invalid(f"dimension: must be between 1 and {_MOST_DIMENSIONS}.")
        if metric not in {"cosine", "euclidean"}:
            raise invalid("distanceMetric: must be cosine or euclidean.")
        if name in bucket.indexes:
            raise conflict("An index with the specified name already exists.")
        settings = IndexSettings(
            name=name,
            bucket=bucket.name,
            arn=f"{bucket.arn}/index/{name}",
            dimension=dimension,
            metric=metric,
            not_filterable=not_filterable,
            created=self._now(),
        )
        bucket.indexes[name] = VectorIndex(settings, searchable)
        return bucket.indexes[name]

    def index(
        self, bucket: str | None = None, name: str | None = None, arn: str | None = None
    ) -> VectorIndex:
        """Find an index by bucket and name, or by ARN.

        Raises:
            ServiceError: NotFoundException, or ValidationException when the index is named in
                both ways or neither.
        """
        if arn is not None:
            match = _INDEX_ARN.fullmatch(arn)
            if match is None or bucket is not None or name is not None:
                raise invalid("indexArn: give the ARN of an index and no names besides.")
            bucket, name = match[1], match[2]
        if bucket is None or name is None:
            raise invalid("Must specify either indexArn or both vectorBucketName and indexName.")
        indexes = self.bucket(bucket).indexes
        if name not in indexes:
            raise not_found("The specified index could not be found.")
        return indexes[name]

    def delete_index(self, index: VectorIndex) -> None:
        """Remove an index with its vectors."""
        del self._buckets[index.settings.bucket].indexes[index.settings.name]

    def warm(self) -> None:
        """Load numpy ahead of the first vector and analyse the texts that wait."""
        import numpy as np

        np.zeros(1, dtype=np.float32)
        for bucket in self._buckets.values():
            for index in bucket.indexes.values():
                index.warm()
