"""The data that TestState shows of the way through a state, where the level is DEBUG or TRACE."""

from collections.abc import Mapping
from typing import Any

from local.stepfunctions.jsontext import dumps
from local.stepfunctions.teststate.state import Bench


def inspect(bench: Bench, state: Mapping[str, Any], given: str) -> dict[str, Any]:
    """Input, result and variables, and for states without JSONata each stage in between.

    Args:
        bench: the state once it was tested.
        state: its ASL.
        given: its input.
    """
    shown: dict[str, Any] = {"input": given}
    result = dumps(state["Result"]) if "Result" in state else bench.result
    if state["Type"] == "Task" or "Result" in state:
        shown |= {} if result is None else {"result": result}
    if not bench.state.jsonata:
        shown |= _stages(state, given, result)
    if bench.strand.variables:
        shown["variables"] = dumps(bench.strand.variables)
    return shown


def _stages(state: Mapping[str, Any], given: str, result: str | None) -> dict[str, str]:
    """What each field of JSONPath would have done, had the state any."""
    kind = state["Type"]
    plain_pass = kind == "Pass" and "Result" not in state
    shown = {}
    if plain_pass or kind in ("Task", "Succeed", "Fail"):
        shown["afterInputPath"] = given
    if plain_pass or kind == "Task":
        shown["afterParameters"] = given
    after = given if plain_pass else result
    if after is not None and kind in ("Pass", "Task", "Parallel"):
        shown |= {"afterResultSelector": after, "afterResultPath": after}
    return shown
