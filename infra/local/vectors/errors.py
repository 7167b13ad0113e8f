"""The errors of S3 Vectors, with the statuses of its service model."""

from local.rest import ServiceError


def invalid(message: str) -> ServiceError:
    """Make the error of a request that breaks a rule of the API or of the index."""
    return ServiceError("ValidationException", message, 400)


def not_found(message: str) -> ServiceError:
    """Make the error of a bucket or index that does not exist."""
    return ServiceError("NotFoundException", message, 404)


def conflict(message: str) -> ServiceError:
    """Make the error of a name that is taken or a bucket that is not empty."""
    return ServiceError("ConflictException", message, 409)
