"""Artifacts and documents on moto's S3."""

from typing import TYPE_CHECKING

import pytest

from autoops.adapters import s3 as adapter
from autoops.adapters.s3 import S3Artifacts, S3Documents
from autoops.domain.contracts import plain
from autoops.domain.passages import DocumentState
from autoops.domain.references import Reference
from autoops.errors import InvalidInput
from fakes import tool
from integration.aws import BUCKET, aws, bucket
from samples import ANSWER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_s3 import S3Client

NAME = "in/Q3 report (1) c++ größe.txt"


@pytest.fixture
def s3() -> "Iterator[S3Client]":
    with aws():
        yield bucket()


def test_a_value_comes_back_as_it_was_put(s3: "S3Client") -> None:
    store = S3Artifacts(s3, BUCKET)
    value = {"text": "größe 😀", "scores": [0.1, 1e-7], "n": 3, "none": None}
    reference = store.put("default", value)
    assert store.get("default", reference) == value
    assert store.put("default", value) == reference


def test_no_tenant_reads_anothers_value(s3: "S3Client") -> None:
    store = S3Artifacts(s3, BUCKET)
    reference = store.put("default", "secret")
    with pytest.raises(InvalidInput, match="another tenant"):
        store.get("other", reference)
    with pytest.raises(InvalidInput, match="another tenant"):
        store.get("def", reference)


def test_a_value_that_was_changed_in_the_bucket_is_refused(s3: "S3Client") -> None:
    store = S3Artifacts(s3, BUCKET)
    reference = store.put("default", "yes")
    s3.put_object(Bucket=BUCKET, Key=reference.artifact, Body=b'"no"')
    with pytest.raises(InvalidInput, match="does not match its hash"):
        store.get("default", reference)


def test_a_value_that_is_gone_is_named(s3: "S3Client") -> None:
    gone = Reference(artifact="default/" + "0" * 64, bytes=1)
    with pytest.raises(InvalidInput, match="is gone"):
        S3Artifacts(s3, BUCKET).get("default", gone)


def test_a_reply_is_kept_whole_under_its_attempt(s3: "S3Client") -> None:
    store = S3Artifacts(s3, BUCKET)
    store.keep_reply("answers/r1/AskModel/0/0/1", tool(ANSWER))
    assert store.reply("answers/r1/AskModel/0/0/1") == tool(ANSWER)
    assert store.reply("answers/r1/AskModel/0/0/2") is None


def test_folder_markers_are_no_documents_and_empty_files_are(s3: "S3Client") -> None:
    for key, body in {"a/": b"", "a/x.txt": b"A yak.", "a/empty.txt": b""}.items():
        s3.put_object(Bucket=BUCKET, Key=f"default/{key}", Body=body)
    documents = S3Documents(s3, BUCKET)
    assert documents.list("default", "a/") == (("a/empty.txt", 0), ("a/x.txt", 6))
    states = [documents.read("default", key).state for key, _ in documents.list("default", "a/")]
    assert states == [DocumentState.EMPTY, DocumentState.OK]


def test_a_document_is_found_by_any_name(s3: "S3Client") -> None:
    s3.put_object(Bucket=BUCKET, Key=f"default/{NAME}", Body=b"A yak.")
    documents = S3Documents(s3, BUCKET)
    ((key, _),) = documents.list("default", "in/Q3 report")
    assert key == NAME
    assert documents.read("default", key).pages == ("A yak.",)


def test_a_tenants_documents_are_its_own(s3: "S3Client") -> None:
    s3.put_object(Bucket=BUCKET, Key="default/a.txt", Body=b"A yak.")
    s3.put_object(Bucket=BUCKET, Key="default-2/b.txt", Body=b"An ox.")
    documents = S3Documents(s3, BUCKET)
    assert [key for key, _ in documents.list("default", "")] == ["a.txt"]
    assert documents.read("other", "a.txt").state is DocumentState.SKIPPED_DELETED


def test_a_document_deleted_since_it_was_listed_is_skipped_and_no_error(s3: "S3Client") -> None:
    read = S3Documents(s3, BUCKET).read("default", "gone.txt")
    assert (read.state, read.pages) == (DocumentState.SKIPPED_DELETED, ())


def test_a_document_over_the_limit_is_named_and_not_read(
    s3: "S3Client", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "DOCUMENT_BYTES", 10)
    s3.put_object(Bucket=BUCKET, Key="default/big.txt", Body=b"x" * 11)
    assert S3Documents(s3, BUCKET).read("default", "big.txt").state is DocumentState.TOO_LARGE


def test_a_bucket_that_is_not_there_is_given_up(s3: "S3Client") -> None:
    with pytest.raises(InvalidInput, match="NoSuchBucket"):
        S3Documents(s3, "nowhere").list("default", "")
    with pytest.raises(InvalidInput, match="NoSuchBucket"):
        S3Artifacts(s3, "nowhere").put("default", plain({}))
