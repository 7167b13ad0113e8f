"""The operations of the S3 Vectors API, by name: each takes the store and the request."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from local.constants import QUERY_TOP_K, VECTORS_PER_PUT
from local.rest import JsonObject
from local.vectors import checks
from local.vectors.errors import invalid
from local.vectors.filters import compile_filter
from local.vectors.index import Hit, VectorIndex
from local.vectors.store import Bucket, VectorStore

Operation = Callable[[VectorStore, JsonObject], JsonObject]

MODE: Final = "ENHANCED"

_KEYS_PER_GET: Final = 100
_PAGE: Final = 500
_MOST_PER_PAGE: Final = 1_000
_MOST_SEGMENTS: Final = 16
_QUERY_TEXTS: Final = 10
_QUERY_CHARACTERS: Final = 1_024


def _bucket(store: VectorStore, request: JsonObject) -> Bucket:
    return store.bucket(request.get("vectorBucketName"), request.get("vectorBucketArn"))


def _index(store: VectorStore, request: JsonObject) -> VectorIndex:
    return store.index(
        request.get("vectorBucketName"), request.get("indexName"), request.get("indexArn")
    )


def create_vector_bucket(store: VectorStore, request: JsonObject) -> JsonObject:
    """Make a bucket."""
    name = checks.text(request.get("vectorBucketName"), "vectorBucketName", 63)
    return {"vectorBucketArn": store.create_bucket(name).arn}


def get_vector_bucket(store: VectorStore, request: JsonObject) -> JsonObject:
    """Tell about a bucket."""
    told = _told_bucket(_bucket(store, request))
    return {"vectorBucket": {**told, "defaultIndexMode": MODE}}


def _told_bucket(bucket: Bucket) -> JsonObject:
    return {
        "vectorBucketName": bucket.name,
        "vectorBucketArn": bucket.arn,
        "creationTime": bucket.created.timestamp(),
    }


def list_vector_buckets(store: VectorStore, request: JsonObject) -> JsonObject:
    """Tell about all buckets, page by page."""
    told = [_told_bucket(bucket) for bucket in store.buckets]
    return _page(request, "vectorBuckets", told, "vectorBucketName")


def delete_vector_bucket(store: VectorStore, request: JsonObject) -> JsonObject:
    """Remove an empty bucket."""
    store.delete_bucket(_bucket(store, request))
    return {}


def create_index(store: VectorStore, request: JsonObject) -> JsonObject:
    """Make an index; in a new bucket its mode is ENHANCED."""
    if request.get("dataType") != "float32":
        raise invalid("dataType: must be float32.")
    config = request.get("metadataConfiguration") or {}
    index = store.create_index(
        _bucket(store, request),
        checks.text(request.get("indexName"), "indexName", 63),
        checks.whole_number(request.get("dimension"), "dimension", 1, 4_096),
        request.get("distanceMetric"),  # type: ignore[arg-type] # checked there
        not_filterable=frozenset(config.get("nonFilterableMetadataKeys") or ()),
        searchable=_searchable(config),
    )
    return {"indexArn": index.settings.arn}


def _searchable(config: JsonObject) -> tuple[tuple[str, str | None], ...]:
    texts = config.get("textSearchConfigurations") or []
    return tuple(
        (checks.text(text.get("metadataKey"), "metadataKey", 63), text.get("language"))
        for text in texts
    )


def get_index(store: VectorStore, request: JsonObject) -> JsonObject:
    """Tell how an index was made and what text queries search in it."""
    index = _index(store, request)
    settings = index.settings
    texts = [
        {"metadataKey": key, "status": "ACTIVE"} | ({"language": language} if language else {})
        for key, language in index.searchable.items()
    ]
    told = {
        **_told_index(index),
        "dataType": "float32",
        "dimension": settings.dimension,
        "distanceMetric": settings.metric,
        "metadataConfiguration": {
            "nonFilterableMetadataKeys": sorted(settings.not_filterable),
            "textSearchConfigurations": texts,
        },
        "indexMode": MODE,
    }
    return {"index": told}


def _told_index(index: VectorIndex) -> JsonObject:
    settings = index.settings
    return {
        "vectorBucketName": settings.bucket,
        "indexName": settings.name,
        "indexArn": settings.arn,
        "creationTime": settings.created.timestamp(),
    }


def list_indexes(store: VectorStore, request: JsonObject) -> JsonObject:
    """Tell about the indexes of a bucket, page by page."""
    indexes = _bucket(store, request).indexes
    told = [_told_index(indexes[name]) for name in sorted(indexes)]
    return _page(request, "indexes", told, "indexName")


def delete_index(store: VectorStore, request: JsonObject) -> JsonObject:
    """Remove an index with its vectors."""
    store.delete_index(_index(store, request))
    return {}


def update_metadata_configuration(store: VectorStore, request: JsonObject) -> JsonObject:
    """Change which metadata keys text queries search."""
    index = _index(store, request)
    for key, _ in _searchable(request.get("delete") or {}):
        index.drop_searchable(key)
    for key, language in _searchable(request.get("add") or {}):
        index.add_searchable(key, language)
    return {"indexArn": index.settings.arn}


def set_index_mode(store: VectorStore, request: JsonObject) -> JsonObject:
    """Accept the one mode that buckets made today can have."""
    find = _index if "indexMode" in request else _bucket
    find(store, request)
    if request.get("indexMode", request.get("defaultIndexMode")) != MODE:
        raise invalid("CLASSIC is for vector buckets created before September 30, 2026.")
    return {}


def put_vectors(store: VectorStore, request: JsonObject) -> JsonObject:
    """Store up to 500 vectors, all or none."""
    index = _index(store, request)
    records = request.get("vectors")
    if not isinstance(records, list) or not 1 <= len(records) <= VECTORS_PER_PUT:
        raise invalid(f"vectors: give 1 to {VECTORS_PER_PUT} vectors.")
    names, rows = checks.vectors(records, index.settings)
    about = [checks.metadata(record, index.settings) for record in records]
    index.put(names, rows, about)
    return {}


def get_vectors(store: VectorStore, request: JsonObject) -> JsonObject:
    """Give up to 100 vectors by key, those that are there, in the order asked."""
    index = _index(store, request)
    found = [key for key in checks.keys(request.get("keys"), _KEYS_PER_GET) if key in index]
    return {"vectors": [_told_vector(index, key, request) for key in found]}


def _told_vector(index: VectorIndex, key: str, request: JsonObject) -> JsonObject:
    told: JsonObject = {"key": key}
    if checks.flag(request, "returnData"):
        told["data"] = {"float32": index.vector(key)}
    if checks.flag(request, "returnMetadata"):
        told["metadata"] = index.metadata(key)
    return told


def list_vectors(store: VectorStore, request: JsonObject) -> JsonObject:
    """Give the vectors of an index or of a segment of it by key, page by page."""
    index = _index(store, request)
    count = checks.whole_number(request.get("segmentCount", 1), "segmentCount", 1, _MOST_SEGMENTS)
    part = checks.whole_number(request.get("segmentIndex", 0), "segmentIndex", 0, count - 1)
    keys = [{"key": key} for key in index.segment(part, count)]
    page = _page(request, "vectors", keys, "key", most=_MOST_PER_PAGE)
    page["vectors"] = [_told_vector(index, told["key"], request) for told in page["vectors"]]
    return page


def delete_vectors(store: VectorStore, request: JsonObject) -> JsonObject:
    """Remove up to 500 vectors by key."""
    index = _index(store, request)
    index.delete(checks.keys(request.get("keys"), VECTORS_PER_PUT))
    return {}


def query_vectors(store: VectorStore, request: JsonObject) -> JsonObject:
    """Give the best vectors by distance, by BM25, or by both fused."""
    index = _index(store, request)
    top = checks.whole_number(request.get("topK"), "topK", 1, QUERY_TOP_K)
    texts = _query_texts(request)
    if "queryVector" not in request and not texts:
        raise invalid("A request must include queryVector, queryTexts, or both.")
    if request.get("queryMode", MODE) != MODE:
        raise invalid("queryMode: CLASSIC can't be specified for an ENHANCED index.")
    if request.get("nextToken"):
        raise invalid("nextToken: no query here has a further page.")
    vector = None
    if "queryVector" in request:
        vector = checks.matrix([request["queryVector"]], ["queryVector"], index.settings)[0]
    passes = None
    if request.get("filter") is not None:
        passes = compile_filter(request["filter"], index.settings.not_filterable)
    hits = index.query(top, vector, texts, passes)
    return {
        "vectors": [_told_hit(index, hit, request) for hit in hits],
        "distanceMetric": index.settings.metric,
    }


def _query_texts(request: JsonObject) -> list[tuple[str, str]]:
    asked = request.get("queryTexts")
    if asked is None:
        return []
    if not isinstance(asked, list) or not 1 <= len(asked) <= _QUERY_TEXTS:
        raise invalid(f"queryTexts: give 1 to {_QUERY_TEXTS} texts.")
    texts = [
        (
            checks.text(text.get("metadataKey"), f"queryTexts.{place}.metadataKey", 63),
            checks.text(text.get("text"), f"queryTexts.{place}.text", _QUERY_CHARACTERS),
        )
        for place, text in enumerate(asked)
    ]
    if len({key for key, _ in texts}) != len(texts):
        raise invalid("queryTexts: each entry must target a distinct metadata key.")
    return texts


def _told_hit(index: VectorIndex, hit: Hit, request: JsonObject) -> JsonObject:
    told: JsonObject = {"key": hit.key}
    if checks.flag(request, "returnDistance") and hit.distance is not None:
        told["distance"] = hit.distance
    if checks.flag(request, "returnMetadata"):
        told["metadata"] = index.metadata(hit.key)
    scores = _scores(hit)
    if checks.flag(request, "returnScores") and scores:
        told["scores"] = scores
    return told


def _scores(hit: Hit) -> JsonObject:
    if not hit.texts and hit.fused is None:
        return {}
    told: JsonObject = {
        "bm25Scores": [{"metadataKey": key, "score": score} for key, score in hit.texts.items()]
    }
    if hit.fused is not None:
        told["fused"] = hit.fused
        if hit.distance is not None:
            told["vectorDistance"] = hit.distance
    return told


def _page(
    request: JsonObject, name: str, items: Sequence[JsonObject], key: str, most: int = _PAGE
) -> JsonObject:
    """Give one page of items that are sorted by a key; the token is the last key told."""
    size = checks.whole_number(request.get("maxResults", _PAGE), "maxResults", 1, most)
    after, prefix = _after(request), request.get("prefix", "")
    left = [item for item in items if item[key] > after and item[key].startswith(prefix)]
    page: dict[str, Any] = {name: left[:size]}
    if len(left) > size:
        last = str(left[size - 1][key]).encode()
        page["nextToken"] = base64.urlsafe_b64encode(last).decode()
    return page


def _after(request: JsonObject) -> str:
    try:
        return base64.b64decode(request.get("nextToken") or "", b"-_", validate=True).decode()
    except (binascii.Error, TypeError, ValueError) as error:
        raise invalid("nextToken: this is no token of an earlier answer.") from error


OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {
        "CreateIndex": create_index,
        "CreateVectorBucket": create_vector_bucket,
        "DeleteIndex": delete_index,
        "DeleteVectorBucket": delete_vector_bucket,
        "DeleteVectors": delete_vectors,
        "GetIndex": get_index,
        "GetVectorBucket": get_vector_bucket,
        "GetVectors": get_vectors,
        "ListIndexes": list_indexes,
        "ListVectorBuckets": list_vector_buckets,
        "ListVectors": list_vectors,
        "PutVectorBucketDefaultIndexMode": set_index_mode,
        "PutVectors": put_vectors,
        "QueryVectors": query_vectors,
        "UpdateIndexMode": set_index_mode,
        "UpdateMetadataConfiguration": update_metadata_configuration,
    }
)
