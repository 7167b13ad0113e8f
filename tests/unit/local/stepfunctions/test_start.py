"""The engine starts without what only some tasks need."""

import subprocess
import sys
from typing import Final

SCRIPT: Final = """
import sys
import local.stepfunctions.serve
print(*[name for name in ("boto3", "httpx", "moto", "langchain_core") if name in sys.modules])
"""


def test_serving_loads_no_client_before_a_task_needs_one() -> None:
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
