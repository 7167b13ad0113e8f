"""Killed with kill -9 at random moments, the engine loses nothing and repeats only what ran."""

from pathlib import Path

import pytest

from integration.local.stepfunctions_kills import kill_and_finish


@pytest.mark.timeout(300)
def test_killed_a_few_times_it_finishes_every_execution(tmp_path: Path) -> None:
    kill_and_finish(tmp_path, rounds=4)
