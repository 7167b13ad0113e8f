"""The pytest plug-in: the fixture `sfn` runs JSONata state machines in virtual time."""

from collections.abc import AsyncIterator

import pytest_asyncio

from local.stepfunctions.testing import StepFunctions


@pytest_asyncio.fixture
async def sfn() -> AsyncIterator[StepFunctions]:
    """State machines under test, with virtual time and functions in this process."""
    machines = StepFunctions()
    yield machines
    await machines.close()
