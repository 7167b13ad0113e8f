"""One vector index: exact nearest neighbours, BM25, and both merged by reciprocal rank fusion."""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from local.rest import JsonObject
from local.vectors.bm25 import Bm25, analyzer_for
from local.vectors.errors import invalid
from local.vectors.filters import Matches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

Metric = Literal["cosine", "euclidean"]

# The constant of reciprocal rank fusion, from Cormack, Clarke and Buettcher (2009).
_FUSION: Final = 60
# Each ranking offers at least this many to the fusion, however few are asked for.
_FUSION_DEPTH: Final = 100
_FIRST_CAPACITY: Final = 256


@dataclass(frozen=True)
class IndexSettings:
    """What an index is made with and keeps for life, but for its searchable keys."""

    name: str
    bucket: str
    arn: str
    dimension: int
    metric: Metric
    not_filterable: frozenset[str]
    created: datetime


@dataclass(frozen=True)
class Hit:
    """One result of a query, with what it was ranked by."""

    key: str
    distance: float | None = None
    texts: dict[str, float] = field(default_factory=dict)
    fused: float | None = None


class VectorIndex:
    """Vectors with metadata by key."""

    def __init__(
        self, settings: IndexSettings, searchable: Iterable[tuple[str, str | None]]
    ) -> None:
        self.settings = settings
        self._texts: dict[str, Bm25] = {}
        self._languages: dict[str, str | None] = {}
        self._keys: list[str] = []
        self._rows: dict[str, int] = {}
        self._metadata: dict[str, JsonObject] = {}
        self._matrix: Matrix | None = None
        for key, language in searchable:
            self.add_searchable(key, language)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    @property
    def keys(self) -> list[str]:
        """All keys, sorted."""
        return sorted(self._keys)

    @property
    def searchable(self) -> dict[str, str | None]:
        """The metadata keys that text queries search, with their languages."""
        return dict(self._languages)

    def add_searchable(self, key: str, language: str | None) -> None:
        """Search a metadata key from now on, vectors that are there already among them."""
        self._languages[key] = language
        self._texts[key] = text = Bm25(analyzer_for(language))
        for name, metadata in self._metadata.items():
            _note(text, name, metadata.get(key))

    def drop_searchable(self, key: str) -> None:
        """Search a metadata key no longer."""
        self._languages.pop(key, None)
        self._texts.pop(key, None)

    def put(self, keys: Sequence[str], vectors: "Matrix", metadata: Sequence[JsonObject]) -> None:
        """Store rows of checked vectors; a key that is there is replaced with all it has."""
        rows = [self._row(key) for key in keys]
        self._grow()[rows] = vectors
        for key, about in zip(keys, metadata, strict=True):
            self._metadata[key] = about
            for name, text in self._texts.items():
                _note(text, key, about.get(name))

    def _row(self, key: str) -> int:
        if key not in self._rows:
            self._rows[key] = len(self._keys)
            self._keys.append(key)
        return self._rows[key]

    def _grow(self) -> "Matrix":
        import numpy as np

        capacity = 0 if self._matrix is None else len(self._matrix)
        if self._matrix is None or len(self._keys) > capacity:
            size = max(_FIRST_CAPACITY, 2 * capacity, len(self._keys))
            grown = np.zeros((size, self.settings.dimension), dtype=np.float32)
            if self._matrix is not None:
                grown[:capacity] = self._matrix
            self._matrix = grown
        return self._matrix

    def delete(self, keys: Iterable[str]) -> None:
        """Remove vectors; keys that are not there are no error."""
        for key in keys:
            row = self._rows.pop(key, None)
            if row is None or self._matrix is None:
                continue
            last = self._keys.pop()
            if last != key:
                # The last row fills the gap, so that rows stay dense.
                self._keys[row] = last
                self._rows[last] = row
                self._matrix[row] = self._matrix[len(self._keys)]
            del self._metadata[key]
            for text in self._texts.values():
                text.remove(key)

    def metadata(self, key: str) -> JsonObject:
        """Give the metadata of a vector that is there."""
        return self._metadata[key]

    def vector(self, key: str) -> list[float]:
        """Give the numbers of a vector that is there."""
        numbers: list[float] = self._grow()[self._rows[key]].tolist()
        return numbers

    def segment(self, index: int, count: int) -> list[str]:
        """Give the sorted keys of one of several disjoint parts of the index."""
        return [key for key in self.keys if zlib.crc32(key.encode()) % count == index]

    def warm(self) -> None:
        """Analyse the texts that came in since the last text query."""
        for text in self._texts.values():
            text.warm()

    def query(
        self,
        top: int,
        vector: "Matrix | None",
        texts: Sequence[tuple[str, str]],
        passes: Matches | None,
    ) -> list[Hit]:
        """Give the best vectors: by distance, by BM25, or by both fused; ties by key.

        Args:
            top: how many at most.
            vector: a checked query vector, or None.
            texts: pairs of metadata key and text; at least one when `vector` is None.
            passes: the filter, applied before the search.

        Raises:
            ServiceError: ValidationException, a metadata key is not searchable.
        """
        depth = max(top, _FUSION_DEPTH) if texts else top
        near = [] if vector is None else self._nearest(depth, vector, passes)
        if not texts:
            return [Hit(key, distance) for key, distance in near]
        said = self._said(texts, passes)
        ranked = sorted(said, key=lambda key: (-sum(said[key].values()), key))
        if vector is None:
            return [Hit(key, texts=said[key]) for key in ranked[:top]]
        return _fused(near, ranked[:depth], said)[:top]

    def _nearest(
        self, top: int, vector: "Matrix", passes: Matches | None
    ) -> list[tuple[str, float]]:
        import numpy as np

        rows = self._passing(passes)
        if not len(rows):
            return []
        distances = self._distances(self._grow()[rows], vector)
        if len(rows) > top:
            kept = np.argpartition(distances, top - 1)[:top]
            # Keep the ties of the last place, so that equal distances are ordered by key.
            kept = np.flatnonzero(distances <= distances[kept].max())
            rows, distances = rows[kept], distances[kept]
        pairs = [(self._keys[row], float(d)) for row, d in zip(rows, distances, strict=True)]
        return sorted(pairs, key=lambda pair: (pair[1], pair[0]))[:top]

    def _passing(self, passes: Matches | None) -> "NDArray[np.intp]":
        import numpy as np

        if passes is None:
            return np.arange(len(self._keys))
        found = [row for row, key in enumerate(self._keys) if passes(self._metadata[key])]
        return np.array(found, dtype=np.intp)

    def _distances(self, matrix: "Matrix", vector: "Matrix") -> "Matrix":
        import numpy as np

        if self.settings.metric == "euclidean":
            apart: Matrix = np.linalg.norm(matrix - vector, axis=1)
            return apart
        norms = np.linalg.norm(matrix, axis=1) * np.linalg.norm(vector)
        angles: Matrix = np.clip(1 - (matrix @ vector) / norms, 0, 2)
        return angles

    def _said(
        self, texts: Sequence[tuple[str, str]], passes: Matches | None
    ) -> dict[str, dict[str, float]]:
        said: dict[str, dict[str, float]] = {}
        for name, text in texts:
            if name not in self._texts:
                raise invalid(f"queryTexts: {name} is not a searchable metadata key of this index.")
            for key, score in self._texts[name].scores(text).items():
                if passes is None or passes(self._metadata[key]):
                    said.setdefault(key, {})[name] = score
        return said


def _note(text: Bm25, key: str, value: Any) -> None:
    if isinstance(value, str):
        text.put(key, value)
    elif isinstance(value, list):
        text.put(key, " ".join(str(item) for item in value))
    else:
        text.remove(key)


def _fused(
    near: Sequence[tuple[str, float]], ranked: Sequence[str], said: dict[str, dict[str, float]]
) -> list[Hit]:
    """Merge two rankings: each gives 1 / (60 + place), places from 1."""
    fused: dict[str, float] = {}
    for ranking in ([key for key, _ in near], ranked):
        for place, key in enumerate(ranking, start=1):
            fused[key] = fused.get(key, 0.0) + 1 / (_FUSION + place)
    distances = dict(near)
    hits = [Hit(key, distances.get(key), said.get(key, {}), score) for key, score in fused.items()]
    return sorted(hits, key=lambda hit: (-(hit.fused or 0.0), hit.key))
