"""The pytest plug-in works for anyone's machine, in five lines."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
EXAMPLE: Final = """
MACHINE = {"QueryLanguage": "JSONata", "StartAt": "Ask", "States": {
    "Ask": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
            "Arguments": {"FunctionName": "ask", "Payload": {}},
            "TimeoutSeconds": 86400, "End": True}}}

async def test_nobody_answers_for_a_day(sfn):
    sfn.function("ask", lambda event: None)
    execution = await sfn.start(MACHINE)
    await sfn.advance(hours=24)
    assert execution.error == "States.Timeout"
    assert [event.type for event in sfn.history][-1] == "ExecutionFailed"

async def test_the_function_is_down(sfn):
    sfn.fault("Ask", "before", "error", error="ModelUnavailable")
    assert (await sfn.start(MACHINE)).error == "ModelUnavailable"
"""


def test_the_example_runs(tmp_path: Path) -> None:
    (tmp_path / "test_example.py").write_text(EXAMPLE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    paths = os.pathsep.join(str(ROOT / name) for name in ("functions", "infra"))
    program = [sys.executable, "-m", "pytest", "-q"]
    done = subprocess.run(
        [*program, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
