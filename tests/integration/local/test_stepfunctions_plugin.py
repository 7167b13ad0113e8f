"""The pytest plug-in works for anyone's machine, in five lines."""

import ast
import os
import subprocess
import sys
import tomllib
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


def run(folder: Path) -> str:
    """What pytest says in a folder of someone else."""
    (folder / "test_example.py").write_text(EXAMPLE)
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    paths = os.pathsep.join(str(ROOT / name) for name in ("functions", "infra"))
    program = [sys.executable, "-m", "pytest", "-q"]
    done = subprocess.run(
        [*program, str(folder)],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_example_runs(tmp_path: Path) -> None:
    said = run(tmp_path)
    assert "2 passed" in said, said


def test_without_its_packages_the_fixture_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('import sys\nsys.modules["jsonatapy"] = None\n')
    (tmp_path / "test_other.py").write_text("def test_other() -> None:\n    pass\n")
    said = run(tmp_path)
    assert "1 passed, 2 errors" in said, said
    assert "needs the package jsonatapy: pip install '<folder of autoops>[stepfunctions]'" in said


def imported(folder: Path) -> set[str]:
    """The packages that the files of a folder import, wherever in them."""
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add((node.module or "").partition(".")[0])
    return names - sys.stdlib_module_names - {"local", "autoops"}


def test_the_extra_names_every_package_the_engine_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = set(project["optional-dependencies"]["stepfunctions"])
    # The comparison with recordings is for the checkout, and botocore comes with boto3.
    modules = {"moto": None, "botocore": "boto3", "pytest_asyncio": "pytest-asyncio"}
    needed = {modules.get(name, name) for name in imported(ROOT / "infra/local/stepfunctions")}
    assert needed - {None} <= extra
