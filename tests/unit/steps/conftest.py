"""Every step is tested on a bench."""

import pytest

from unit.steps.bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
