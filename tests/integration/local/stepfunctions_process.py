"""An engine in a process of its own, for tests that kill it.

Each task notes in a file what it did, so that a test can tell what ran how often.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from local.invoke import InvokeResult
from local.stepfunctions.engine import Engine
from local.stepfunctions.integrations.runner import Integrations
from local.stepfunctions.journal import Journal

STATES = 5
EXECUTIONS = 100


def definition() -> str:
    """Tasks in a row, with a Wait, a Map and a child execution among them."""
    work = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "TimeoutSeconds": 3600,
        "Output": "{% $states.input %}",
    }

    def call(step: str, following: str) -> dict[str, Any]:
        payload = {"run": "{% $states.context.Execution.Name %}", "step": step}
        return {
            **work,
            "Arguments": {"FunctionName": "work", "Payload": payload},
            "Next": following,
        }

    each = {
        **work,
        "Arguments": {
            "FunctionName": "work",
            "Payload": {
                "run": "{% $states.context.Execution.Name %}",
                "step": "{% 'item-' & $states.context.Map.Item.Index %}",
            },
        },
        "End": True,
    }
    items = {
        "Type": "Map",
        "Items": [1, 2, 3],
        "ItemProcessor": {"StartAt": "Each", "States": {"Each": each}},
        "Output": "{% $states.input %}",
        "Next": "S3",
    }
    states = {
        "S0": call("s0", "Short"),
        "Short": {"Type": "Wait", "Seconds": 1, "Next": "S1"},
        "S1": call("s1", "Items"),
        "Items": items,
        "S3": {**call("s3", ""), "End": True},
    }
    del states["S3"]["Next"]
    return json.dumps({"QueryLanguage": "JSONata", "StartAt": "S0", "States": states})


class Noting:
    """Functions that take a moment and note what they did."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes.open("a", buffering=1)

    async def invoke(
        self, function_arn: str, payload: bytes, *, asynchronous: bool = False
    ) -> InvokeResult:
        del function_arn, asynchronous
        event = json.loads(payload)
        self._notes.write(f"began {event['run']} {event['step']}\n")
        await asyncio.sleep(0.01)
        self._notes.write(f"ended {event['run']} {event['step']}\n")
        return InvokeResult(200, b"{}")


async def main(folder: Path) -> None:
    """Go on with what the journal has, or start 100 executions; end when all have ended."""
    journal = Journal(folder / "journal.db")
    engine = Engine(Integrations(Noting(folder / "notes")), seed=1, journal=journal)
    arn = engine.create_state_machine(name="kill", definition=definition())
    engine.resume()
    for number in range(EXECUTIONS):
        name = f"run-{number}"
        if engine.find(engine.names.execution("kill", name)) is None:
            engine.start_execution(arn, f'{{"n":{number}}}', name)
    machine = engine.machines.get(arn)
    while True:
        await asyncio.sleep(0.02)
        if engine.driver.dead:
            sys.exit("the engine stopped: its journal could not be written")
        shapes = engine.summaries(machine)
        if len(shapes) == EXECUTIONS and all(shape["status"] != "RUNNING" for shape in shapes):
            break
    await engine.close()
    journal.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
