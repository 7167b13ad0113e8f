"""Importing a handler does nothing: no environment, no region, no model library."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from architecture.project import ROOT, Json, Project, hold

HEAVY: Final = ("langchain_core", "langchain_aws", "boto3", "numpy", "pypdf", "selectolax")
SCRIPT: Final = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
importlib.import_module(sys.argv[2])
print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))
"""
WITHOUT_SETTINGS: Final = """
import sys
sys.path.insert(0, sys.argv[1])
from autoops.config import settings
settings()
"""


def loaded_too_early(modules: Mapping[str, list[str]]) -> Iterator[str]:
    for handler, loaded in modules.items():
        for name in HEAVY:
            if name in loaded:
                yield f"{handler}: importing it loads {name}; import that on first use"


def imported(module: str) -> list[str]:
    """Top-level modules loaded after the import, in a process with an empty environment."""
    run = _python(SCRIPT, module)
    assert run.returncode == 0, f"{module} cannot be imported without environment:\n{run.stderr}"
    names: list[str] = json.loads(run.stdout)
    return names


def _python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, str(ROOT / "functions"), *arguments]
    return subprocess.run(command, env={}, cwd=os.sep, capture_output=True, text=True, check=False)


def _handlers() -> list[str]:
    functions: Mapping[str, Json] = Project.read().functions
    return sorted(one["Handler"].removesuffix(".handler") for one in functions.values())


@pytest.mark.parametrize("handler", _handlers())
def test_a_handler_imports_in_an_empty_environment_and_loads_nothing_heavy(handler: str) -> None:
    hold(loaded_too_early({handler: imported(handler)}))


def test_a_heavy_import_is_named() -> None:
    assert list(loaded_too_early({"steps.x.handler": ["json", "langchain_core"]})) == [
        "steps.x.handler: importing it loads langchain_core; import that on first use"
    ]


def test_first_use_without_settings_is_one_clear_error() -> None:
    run = _python(WITHOUT_SETTINGS)
    assert run.returncode == 1
    assert "InvalidInput: environment: LEDGER_TABLE, " in run.stderr
    assert run.stderr.rstrip().endswith("not set; see template.yaml")
