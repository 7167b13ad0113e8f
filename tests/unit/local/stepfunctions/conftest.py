"""The fixture `sfn`, as the plug-in gives it to anyone."""

from local.stepfunctions.pytest_plugin import sfn

__all__ = ["sfn"]
