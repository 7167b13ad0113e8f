"""What AWS demands of a logging configuration."""

from collections.abc import Mapping
from typing import Any, Final

from local.stepfunctions.errors import ApiError

_LEVELS: Final = ("ALL", "ERROR", "FATAL", "OFF")


def check_logging(configuration: Mapping[str, Any] | None) -> None:
    """Accept a logging configuration.

    Raises:
        ApiError: InvalidLoggingConfiguration.
    """
    if configuration is None:
        return
    destinations = configuration.get("destinations", [])
    level = configuration.get("level", "OFF")
    if level == "OFF" and not destinations:
        return
    if len(destinations) != 1:
        sentence = "Must specify exactly one Log Destination."
        raise ApiError("InvalidLoggingConfiguration", f"Invalid Logging Configuration: {sentence}")
    if level not in _LEVELS:
        raise ApiError("InvalidLoggingConfiguration", f"Invalid Logging Configuration: {level}")
