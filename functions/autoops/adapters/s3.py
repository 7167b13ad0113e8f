"""Artifacts and documents in S3."""

import json
from functools import cache
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from autoops.adapters.aws import client, error_code, translated
from autoops.adapters.readers import text_of
from autoops.config import settings
from autoops.domain.contracts import Json, to_json
from autoops.domain.model import ModelReply
from autoops.domain.passages import DocumentState, DocumentText
from autoops.domain.references import Reference, artifact_key
from autoops.errors import InvalidInput

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

DOCUMENT_BYTES: Final = 50 * 1024 * 1024
GONE: Final = frozenset({"NoSuchKey", "404", "NotFound"})


class S3Artifacts:
    """`autoops.ports.ArtifactStore` in a bucket."""

    def __init__(self, s3: "S3Client", bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def put(self, tenant: str, value: Json) -> Reference:
        """See `ArtifactStore.put`."""
        content = to_json(value).encode()
        key = artifact_key(tenant, content)
        self._put(key, content)
        return Reference(artifact=key, bytes=len(content))

    def get(self, tenant: str, reference: Reference) -> Json:
        """See `ArtifactStore.get`."""
        if not reference.artifact.startswith(f"{tenant}/"):
            raise InvalidInput("artifact: belongs to another tenant")
        content = self._get(reference.artifact)
        if content is None:
            raise InvalidInput(f"artifact: {reference.artifact} is gone")
        if artifact_key(tenant, content) != reference.artifact:
            raise InvalidInput(f"artifact: {reference.artifact} does not match its hash")
        return json.loads(content)

    def keep_reply(self, key: str, reply: ModelReply) -> None:
        """See `ArtifactStore.keep_reply`."""
        self._put(key, to_json(reply).encode())

    def reply(self, key: str) -> ModelReply | None:
        """See `ArtifactStore.reply`."""
        content = self._get(key)
        return None if content is None else ModelReply.model_validate_json(content)

    def _put(self, key: str, content: bytes) -> None:
        try:
            self._s3.put_object(
                Bucket=self._bucket, Key=key, Body=content, ContentType="application/json"
            )
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "s3") from error

    def _get(self, key: str) -> bytes | None:
        try:
            return self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except (ClientError, BotoCoreError) as error:
            if error_code(error) in GONE:
                return None
            raise translated(error, "s3") from error


class S3Documents:
    """`autoops.ports.Documents` in a bucket: keys `<tenant>/<document>`."""

    def __init__(self, s3: "S3Client", bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def list(self, tenant: str, prefix: str) -> tuple[tuple[str, int], ...]:
        """See `Documents.list`."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=f"{tenant}/{prefix}"
        )
        try:
            return tuple(
                (found["Key"].removeprefix(f"{tenant}/"), found["Size"])
                for page in pages
                for found in page.get("Contents", [])
                if not found["Key"].endswith("/")
            )
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "s3") from error

    def read(self, tenant: str, key: str) -> DocumentText:
        """See `Documents.read`."""
        try:
            answer = self._s3.get_object(Bucket=self._bucket, Key=f"{tenant}/{key}")
            if answer["ContentLength"] > DOCUMENT_BYTES:
                return _without_text(
                    key, DocumentState.TOO_LARGE, f"over {DOCUMENT_BYTES // 1024 // 1024} MiB"
                )
            return text_of(key, answer["Body"].read())
        except (ClientError, BotoCoreError) as error:
            if error_code(error) in GONE:
                return _without_text(key, DocumentState.SKIPPED_DELETED, "no longer there")
            raise translated(error, "s3") from error


@cache
def artifacts() -> S3Artifacts:
    """The artifact store of this process."""
    return S3Artifacts(client("s3"), settings().artifacts_bucket)


@cache
def documents() -> S3Documents:
    """The documents of this process."""
    return S3Documents(client("s3"), settings().documents_bucket)


def _without_text(key: str, state: DocumentState, problem: str) -> DocumentText:
    return DocumentText(document=key, title=key, state=state, problem=problem)
