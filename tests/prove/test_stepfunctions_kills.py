"""Killed with kill -9 again and again, the engine loses nothing and repeats only what ran."""

from pathlib import Path

import pytest

from integration.local.stepfunctions_kills import kill_and_finish


@pytest.mark.timeout(600)
def test_killed_25_times_it_finishes_every_execution(tmp_path: Path) -> None:
    kill_and_finish(tmp_path, rounds=25)
