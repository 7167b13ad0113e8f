"""The fixtures of the pytest plug-in: `sfn` runs JSONata state machines in virtual time.

async def test_a_late_approval_is_refused(sfn):
    sfn.function("ask", lambda event: tokens.append(event["token"]))
    execution = await sfn.start(definition, {"amount": 900})
    await sfn.advance(hours=24)
    assert execution.error == "ApprovalExpired"
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from local.stepfunctions.testing import StepFunctions


@pytest_asyncio.fixture
async def sfn() -> AsyncIterator[StepFunctions]:
    """State machines under test, with virtual time and functions in this process."""
    machines = StepFunctions()
    yield machines
    await machines.close()


@pytest_asyncio.fixture
async def durable_sfn(tmp_path: Path) -> AsyncIterator[StepFunctions]:
    """As `sfn`, with a journal: faults may kill the engine."""
    machines = StepFunctions(journal=tmp_path / "journal.db")
    yield machines
    await machines.close()
