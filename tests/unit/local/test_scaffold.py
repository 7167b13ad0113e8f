"""A new step or workflow goes into every place it needs, passes the gate, or leaves no trace."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from local.scaffold import ROOT, ScaffoldError, main, step_files, workflow_files, write

COPIED = ("functions", "infra", "statemachines", "tests", "docs")
COPIED_FILES = (
    "template.yaml",
    "pyproject.toml",
    "README.md",
    "Makefile",
    "CHANGELOG.md",
    "LICENSE",
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project in another folder."""
    for name in COPIED:
        copytree(ROOT / name, tmp_path / name, ignore=ignore_patterns("__pycache__"))
    for name in COPIED_FILES:
        (tmp_path / name).write_text((ROOT / name).read_text())
    return tmp_path


def run(folder: Path, *command: str) -> str:
    """Output of a Python module run in the folder; fails when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", ["GradeAnswer", "grade-answer", "grade__answer", "grade_2", "class", "ä", "a b", "../x"]
)
def test_a_bad_step_name_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(ScaffoldError, match="no name for a step; write lower-case words"):
        step_files(name)


@pytest.mark.parametrize("name", ["grade_answers", "Grade-answers", "-x", "x-", "grade.answers"])
def test_a_bad_workflow_name_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(ScaffoldError, match="no name for a workflow; write lower-case words"):
        workflow_files(name)


def test_a_taken_name_is_refused() -> None:
    with pytest.raises(ScaffoldError, match=r"functions/steps/admit exists; choose another name"):
        step_files("admit")
    with pytest.raises(ScaffoldError, match=r"functions/triggers/close_run exists"):
        step_files("close_run")
    with pytest.raises(ScaffoldError, match=r"ask-model.asl.json exists; choose another name"):
        workflow_files("ask-model")


def test_a_missing_or_endless_name_is_refused() -> None:
    with pytest.raises(ScaffoldError, match="NAME: missing; write make step NAME=grade_answer"):
        step_files("")
    with pytest.raises(ScaffoldError, match="has 41 characters; write at most 40"):
        step_files("x" * 41)


def test_a_refusal_is_an_exit_code_and_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", "admit"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_template_without_its_landmarks_is_refused(copy: Path) -> None:
    (copy / "template.yaml").write_text("Resources: {}\n")
    with pytest.raises(ScaffoldError, match=r"template.yaml: no line '# Triggers'"):
        step_files("grade_answer", copy)
    with pytest.raises(ScaffoldError, match=r"template.yaml: no line 'Outputs:'"):
        workflow_files("grade-answers", copy)


@pytest.mark.timeout(300)  # it runs the gate of a copy
def test_what_is_written_passes_the_gate_as_it_is(copy: Path) -> None:
    files = step_files("grade_answer", copy)
    write(files)
    files |= workflow_files("grade-answers", copy)
    write(files)
    code = [str(path) for path in files if path.suffix == ".py"]
    run(copy, "ruff", "format", "--check", *code)
    run(copy, "ruff", "check", *code)
    tests = ("tests/unit/steps/test_grade_answer.py", "tests/workflows/test_grade_answers.py")
    run(copy, "pytest", "-q", *tests, "tests/architecture")
