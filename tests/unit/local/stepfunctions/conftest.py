"""The fixture `sfn`, as the plug-in gives it to anyone."""

from local.stepfunctions.fixtures import durable_sfn, sfn

__all__ = ["durable_sfn", "sfn"]
