"""langchain-aws is imported without the modules that no call needs, and nothing is left half."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from architecture.project import ROOT
from autoops.adapters.langchain import package_not_run

IMPORTED = """
import sys
sys.path.insert(0, sys.argv[1])
from autoops.adapters.langchain import UNUSED, chat_class
made = chat_class()
assert UNUSED not in sys.modules, "nothing is left half"
loaded = [name for name in sys.modules if name.startswith(UNUSED + ".")]
assert len(loaded) < 20, f"{len(loaded)} modules of {UNUSED}: the import is dear again"
import langchain_aws, langsmith.types
assert langchain_aws.ChatBedrockConverse is made
assert len(dir(langsmith.types)) > 100, "whoever imports it later gets it whole"
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tmp_path / "dear"
    folder.mkdir()
    (folder / "__init__.py").write_text("from dear.part import PART\nWHOLE = True\n")
    (folder / "part.py").write_text("PART = 1\n")
    (folder / "needy.py").write_text("from dear import WHOLE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "dear"
    for name in [name for name in sys.modules if name.partition(".")[0] == "dear"]:
        del sys.modules[name]


def test_the_client_class_comes_without_the_unused_package_and_leaves_it_whole() -> None:
    command = [sys.executable, "-c", IMPORTED, str(ROOT / "functions")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_a_module_is_imported_without_its_package_and_the_package_later_whole(
    package: str,
) -> None:
    with package_not_run(package):
        part = importlib.import_module(f"{package}.part")
    assert package not in sys.modules
    whole = importlib.import_module(package)
    assert whole.WHOLE
    assert sys.modules[f"{package}.part"] is part


def test_a_module_that_needs_its_package_fails_inside_and_works_afterwards(package: str) -> None:
    with pytest.raises(ImportError), package_not_run(package):
        importlib.import_module(f"{package}.needy")
    assert importlib.import_module(f"{package}.needy").WHOLE


def test_a_package_that_is_loaded_or_missing_is_left_alone(package: str) -> None:
    whole = importlib.import_module(package)
    with package_not_run(package):
        assert sys.modules[package] is whole
    with package_not_run("no_such.package"):
        pass
    assert sys.modules[package] is whole
