"""Powertools idempotency on DynamoDB: the second delivery gets the first one's result."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyInconsistentStateError,
    IdempotencyPersistenceLayerError,
)

from autoops.adapters.aws import client
from autoops.config import settings
from autoops.domain.contracts import Json
from autoops.errors import CallInProgress, DependencyUnavailable

KEPT_SECONDS: Final = 14 * 24 * 3600
"""As long as a run can be redriven."""


def run_once(identity: str, work: Callable[[], Json], context: Any) -> Json:
    """The work's result, from the record when this identity has run before.

    Args:
        identity: what makes two deliveries the same; whole, never empty.
        work: does it; its result is small JSON.
        context: Lambda's context; the lease ends with the invocation.

    Raises:
        CallInProgress: another delivery of it is at work.
        DependencyUnavailable: the record could not be read or written.
    """
    config = IdempotencyConfig(expires_after_seconds=KEPT_SECONDS, lambda_context=context)

    @idempotent_function(  # type: ignore[untyped-decorator]  # Powertools types it loosely
        data_keyword_argument="identity", persistence_store=_records(), config=config
    )
    def once(*, identity: str) -> Json:  # noqa: ARG001  # the key, read by the decorator
        return work()

    try:
        return once(identity=identity)
    except (IdempotencyAlreadyInProgressError, IdempotencyInconsistentStateError):
        raise CallInProgress("another delivery of this step is at work") from None
    except IdempotencyPersistenceLayerError as error:
        raise DependencyUnavailable("dynamodb: the idempotency record") from error


@cache
def _records() -> DynamoDBPersistenceLayer:
    return DynamoDBPersistenceLayer(
        table_name=settings().idempotency_table, boto3_client=client("dynamodb")
    )
