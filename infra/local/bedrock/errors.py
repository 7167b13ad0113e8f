"""The errors of the Bedrock runtime, with the statuses of its service model."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from local.rest import ServiceError

STATUSES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "AccessDeniedException": 403,
        "InternalServerException": 500,
        "ModelErrorException": 424,
        "ModelNotReadyException": 429,
        "ModelStreamErrorException": 424,
        "ModelTimeoutException": 408,
        "ResourceNotFoundException": 404,
        "ServiceQuotaExceededException": 400,
        "ServiceUnavailableException": 503,
        "ThrottlingException": 429,
        "ValidationException": 400,
    }
)

SENTENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "AccessDeniedException": "You don't have access to the model with the specified model ID.",
        "InternalServerException": "The system encountered an unexpected error. Try again.",
        "ModelErrorException": "The model returned an error while processing the request.",
        "ModelNotReadyException": "Model is not ready for inference. Wait and try again.",
        "ModelStreamErrorException": "An error occurred while streaming the response.",
        "ModelTimeoutException": "Model has timed out in processing the request. Try again.",
        "ResourceNotFoundException": "The specified resource ARN was not found.",
        "ServiceQuotaExceededException": "Your request exceeds the service quota.",
        "ServiceUnavailableException": "Bedrock is unable to process your request.",
        "ThrottlingException": "Too many requests, please wait before trying again.",
        "ValidationException": "The input fails to satisfy the constraints of the service.",
    }
)


def bedrock_error(name: str, message: str = "") -> ServiceError:
    """Make one of Bedrock's errors; an unknown name gets status 400."""
    return ServiceError(name, message or SENTENCES.get(name, name), STATUSES.get(name, 400))


def invalid(message: str) -> ServiceError:
    """Make the error of a request that Bedrock refuses before any model sees it."""
    return bedrock_error("ValidationException", message)
