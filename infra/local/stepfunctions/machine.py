"""A state machine compiled for running: programs of states, and how one is read from ASL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from local.stepfunctions.states.base import State
from local.stepfunctions.states.choice import Choice
from local.stepfunctions.states.distributed_map import DistributedMap
from local.stepfunctions.states.fail import Fail
from local.stepfunctions.states.map_state import Map
from local.stepfunctions.states.parallel import Parallel
from local.stepfunctions.states.pass_state import Pass
from local.stepfunctions.states.program import Program
from local.stepfunctions.states.succeed import Succeed
from local.stepfunctions.states.task import Task
from local.stepfunctions.states.wait import Wait

__all__ = ["Machine", "Program", "compile_machine"]

_TYPES: Final[Mapping[str, type[State]]] = {
    "Choice": Choice,
    "Fail": Fail,
    "Map": Map,
    "Parallel": Parallel,
    "Pass": Pass,
    "Succeed": Succeed,
    "Task": Task,
    "Wait": Wait,
}
_DEFAULT_LANGUAGE: Final = "JSONPath"


@dataclass(frozen=True, slots=True)
class Machine:
    """A compiled definition; shared by all its executions.

    Attributes:
        program: the outermost states.
        timeout_seconds: the machine's own timeout, None for none.
    """

    program: Program
    timeout_seconds: float | None


def compile_machine(definition: Mapping[str, Any]) -> Machine:
    """Compile a definition that validation has passed.

    Raises:
        ExpressionError: a text in it is not JSONata.
    """
    language = definition.get("QueryLanguage", _DEFAULT_LANGUAGE)
    return Machine(_program(definition, language), definition.get("TimeoutSeconds"))


def _program(fields: Mapping[str, Any], language: str) -> Program:
    states = {name: _state(name, state, language) for name, state in fields["States"].items()}
    return Program(fields["StartAt"], states)


def _state(name: str, fields: Mapping[str, Any], language: str) -> State:
    own = fields.get("QueryLanguage", language)
    kind = DistributedMap if _distributed(fields) else _TYPES[fields["Type"]]
    return kind(name, fields, own == "JSONata", lambda inner: _program(inner, language))


def _distributed(fields: Mapping[str, Any]) -> bool:
    processor = fields.get("ItemProcessor") or fields.get("Iterator") or {}
    config = processor.get("ProcessorConfig") or {}
    return fields["Type"] == "Map" and config.get("Mode") == "DISTRIBUTED"
