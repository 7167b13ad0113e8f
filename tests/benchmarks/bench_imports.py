"""CPU seconds of a cold start's imports, handler by handler: `python bench_imports.py`.

Each number is the median of five processes whose modules are compiled. The first column is the
import of the handler; the second adds what its first call loads, boto3 and for those that ask a
model langchain-aws, and is held against the target.
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Final

import yaml
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[2]
RUNS: Final = 5
TARGET: Final = 0.35
TARGET_WITH_MODEL: Final = 1.0
SCRIPT: Final = """
import importlib, sys, time
sys.path.insert(0, sys.argv[1])
begun = time.process_time()
importlib.import_module(sys.argv[2])
handler = time.process_time() - begun
import boto3
if sys.argv[3] == "chat":
    from autoops.adapters.langchain import chat_class
    chat_class()
print(handler, time.process_time() - begun)
"""


class Loader(yaml.SafeLoader):
    """Reads a template; short intrinsic forms say nothing that is needed here."""


Loader.add_multi_constructor("!", lambda _loader, _tag, node: str(node.value))


def handlers() -> dict[str, str]:
    """What each handler's first call needs: "chat", "embed" or ""; by its module."""
    template = yaml.load((ROOT / "template.yaml").read_text("utf-8"), Loader)  # noqa: S506  # a safe loader
    found = {}
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Serverless::Function":
            asks = "bedrock:InvokeModel" in str(properties.get("Policies"))
            chats = "BedrockLayer" in properties.get("Layers", [])
            module = properties["Handler"].removesuffix(".handler")
            found[module] = "chat" if chats else "embed" if asks else ""
    return found


def measured(module: str, needs: str) -> tuple[float, float]:
    """Seconds of the handler alone and to its first call, one process."""
    command = [sys.executable, "-c", SCRIPT, str(ROOT / "functions"), module, needs]
    environment = {"PATH": os.environ["PATH"]}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    alone, whole = map(float, run.stdout.split())
    return alone, whole


def main() -> None:
    """Print the table."""
    table = Table(title=f"CPU seconds of a cold import, median of {RUNS}")
    for column in ("handler", "alone", "to its first call", "target", ""):
        table.add_column(column, justify="left" if column == "handler" else "right")
    for module, needs in sorted(handlers().items()):
        measured(module, needs)  # compiles what is not compiled yet
        runs = [measured(module, needs) for _ in range(RUNS)]
        alone, whole = (statistics.median(column) for column in zip(*runs, strict=True))
        target = TARGET_WITH_MODEL if needs else TARGET
        verdict = "ok" if whole <= target else "over"
        table.add_row(module, f"{alone:.2f}", f"{whole:.2f}", f"{target:.2f}", verdict)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
