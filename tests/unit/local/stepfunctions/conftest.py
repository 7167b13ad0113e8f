"""The fixture `sfn`, as the plug-in gives it to anyone."""

from local.stepfunctions.pytest_plugin import durable_sfn, sfn

__all__ = ["durable_sfn", "sfn"]
