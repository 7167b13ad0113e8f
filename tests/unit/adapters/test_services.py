"""Step Functions, EventBridge, S3 and S3 Vectors: what is sent, and what their errors mean."""

import json

import pytest

from autoops.adapters.events import EventBus
from autoops.adapters.s3 import S3Documents
from autoops.adapters.s3vectors import PER_PUT, S3VectorIndex
from autoops.adapters.stepfunctions import StepFunctions
from autoops.domain.contracts import Json
from autoops.domain.passages import EmbeddedChunk
from autoops.errors import DependencyUnavailable, InvalidInput
from samples import chunk
from unit.adapters.service import Service


def workflows(service: Service) -> StepFunctions:
    return StepFunctions(service.client("stepfunctions"))


def bus(service: Service) -> EventBus:
    return EventBus(service.client("events"), "bus")


def index(service: Service, *, words: bool = True) -> S3VectorIndex:
    return S3VectorIndex(service.client("s3vectors"), "vectors", "chunks", words=words)


def test_a_token_is_answered_in_json() -> None:
    service = Service().says({})
    workflows(service).succeed("token", {"worst": 7})
    assert service.requests == [{"taskToken": "token", "output": '{"worst":7}'}]


@pytest.mark.parametrize("code", ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"])
def test_a_token_that_is_gone_does_not_matter(code: str) -> None:
    workflows(Service().fails(code, 400)).succeed("token", {})


@pytest.mark.parametrize(
    ("code", "status", "ours"),
    [
        ("ThrottlingException", 400, DependencyUnavailable),
        ("ServiceUnavailable", 503, DependencyUnavailable),
        ("InvalidOutput", 400, InvalidInput),
    ],
)
def test_a_token_that_could_not_be_answered_is_an_error(
    code: str, status: int, ours: type[Exception]
) -> None:
    with pytest.raises(ours):
        workflows(Service().fails(code, status)).succeed("token", {})


def test_an_event_says_where_it_comes_from() -> None:
    service = Service().says({"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]})
    bus(service).publish("AnswerPersisted", {"run": "r1"})
    (entry,) = service.requests[0]["Entries"]
    assert (entry["Source"], entry["EventBusName"]) == ("autoops", "bus")
    assert json.loads(entry["Detail"]) == {"run": "r1"}


def test_an_event_that_the_bus_did_not_take_is_tried_again() -> None:
    answer = {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException"}]}
    with pytest.raises(DependencyUnavailable, match="ThrottlingException"):
        bus(Service().says(answer)).publish("AnswerPersisted", {})
    with pytest.raises(DependencyUnavailable):
        bus(Service().fails("InternalException", 500)).publish("AnswerPersisted", {})


def listed(key: str, following: str = "") -> bytes:
    more = f"<NextContinuationToken>{following}</NextContinuationToken>" if following else ""
    return (
        f"<ListBucketResult><IsTruncated>{str(bool(following)).lower()}</IsTruncated>{more}"
        f"<Contents><Key>default/{key}</Key><Size>1</Size></Contents></ListBucketResult>"
    ).encode()


def test_documents_of_every_page_are_listed() -> None:
    service = Service([(200, listed("a.txt", "token")), (200, listed("b.txt"))])
    documents = S3Documents(service.client("s3"), "documents")
    assert documents.list("default", "") == (("a.txt", 1), ("b.txt", 1))
    assert "continuation-token=token" in service.paths[1]


def found(number: int) -> Json:
    held = chunk(number)
    metadata = {
        "tenant": "default",
        "document": held.document,
        "title": held.title,
        "place": held.place,
        "text": held.text,
    }
    return {"key": held.key, "distance": 0.1, "metadata": metadata}


def test_passages_come_back_named_by_rank_for_the_tenant_alone() -> None:
    service = Service().says({"vectors": [found(4), found(2)], "distanceMetric": "cosine"})
    passages = index(service).query("default", "yak?", (1.0, 0.0), 6)
    assert [(each.id, each.chunk.key) for each in passages] == [
        ("p1", chunk(4).key),
        ("p2", chunk(2).key),
    ]
    assert passages[0].score > passages[1].score
    (sent,) = service.requests
    assert sent["filter"] == {"tenant": "default"}
    assert (sent["topK"], sent["queryVector"]) == (6, {"float32": [1.0, 0.0]})


@pytest.mark.parametrize("words", [True, False])
def test_words_are_searched_only_where_the_index_can(words: bool) -> None:
    service = Service().says({"vectors": [], "distanceMetric": "cosine"})
    assert index(service, words=words).query("default", "y" * 9_000, (1.0,), 6) == ()
    assert ("queryTexts" in service.requests[0]) is words


def test_chunks_go_in_by_five_hundreds_with_their_tenant() -> None:
    service = Service().says({}, {})
    many = [EmbeddedChunk(chunk=chunk(number), vector=(1.0, 0.0)) for number in range(PER_PUT + 1)]
    index(service).put(many)
    assert [len(sent["vectors"]) for sent in service.requests] == [PER_PUT, 1]
    assert service.requests[0]["vectors"][0]["metadata"]["tenant"] == "default"


def test_nothing_to_put_or_delete_asks_nobody() -> None:
    service = Service()
    index(service).put([])
    index(service).delete([])
    assert service.requests == []


def test_keys_are_deleted_by_five_hundreds() -> None:
    service = Service().says({}, {})
    index(service).delete([f"default/{number}" for number in range(PER_PUT + 1)])
    assert [len(sent["keys"]) for sent in service.requests] == [PER_PUT, 1]


@pytest.mark.parametrize(
    ("code", "status", "ours"),
    [
        ("TooManyRequestsException", 429, DependencyUnavailable),
        ("ServiceUnavailableException", 503, DependencyUnavailable),
        ("InternalServerException", 500, DependencyUnavailable),
        ("ValidationException", 400, InvalidInput),
    ],
)
def test_what_the_index_refuses_is_one_of_our_errors(
    code: str, status: int, ours: type[Exception]
) -> None:
    with pytest.raises(ours):
        index(Service().fails(code, status)).query("default", "yak?", (0.0, 0.0), 6)
