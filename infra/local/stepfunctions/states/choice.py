"""Choice: goes where the first true condition points."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local.stepfunctions.errors import NO_CHOICE, StatesError
from local.stepfunctions.flow import leave
from local.stepfunctions.payloads import Payload, expect
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.states.base import Compile, Exit, State


@dataclass(frozen=True, slots=True)
class _Rule:
    condition: Payload
    source: Any
    location: str
    exit: Exit


class Choice(State):
    """Branches on JSONata conditions."""

    kind = "Choice"

    def read(self, fields: Mapping[str, Any], _: Compile) -> None:
        """Compile the rules and the default."""
        self._rules = tuple(
            self._rule(rule, f"Choices[{number}]/") for number, rule in enumerate(fields["Choices"])
        )
        default = fields.get("Default")
        self._default = Exit(default, self.exit.assign, self.exit.output) if default else None

    def _rule(self, rule: Mapping[str, Any], prefix: str) -> _Rule:
        location = f"{prefix}Condition"
        source = rule.get("Condition")
        condition = self.payload(source, location)
        return _Rule(condition, source, location, self.read_exit(rule, prefix))

    def enter(self, run: Run, strand: Strand) -> None:
        """Leave by the first rule that holds, else by the default.

        Raises:
            StatesError: no rule holds and there is no default, or a condition failed.
        """
        scope = run.scope(strand)
        for rule in self._rules:
            if expect(rule.condition, scope, "boolean", rule.source, rule.location):
                leave(run, strand, scope, strand.input, rule.exit)
                return
        if self._default is None:
            raise StatesError(NO_CHOICE, "No choice rule holds and the state has no default.")
        leave(run, strand, scope, strand.input, self._default)
