"""What all states have in common: their fields, and how they are entered and left."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.payloads import Payload, compile_payload, constant
from local.stepfunctions.retries import Retrier, read_retriers
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.states.program import Program

Compile = Callable[[Mapping[str, Any]], Program]


@dataclass(frozen=True, slots=True)
class Exit:
    """One way out of a state.

    Attributes:
        next: the state that follows, None to end the strand.
        assign: the variables to set, None for none.
        output: the output, None for the state's default.
    """

    next: str | None
    assign: Payload | None
    output: Payload | None


@dataclass(frozen=True, slots=True)
class Catcher:
    """One entry of Catch."""

    errors: frozenset[str]
    exit: Exit


class State:
    """A state of a compiled machine; knows nothing of any one execution.

    Args:
        name: its name.
        fields: its ASL.
        jsonata: whether its query language is JSONata; without it fields are literal.
        compile_program: compiles branches and item processors.
    """

    kind: ClassVar[str]
    needs_token: bool = False
    fails_with_event: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        fields: Mapping[str, Any],
        jsonata: bool,
        compile_program: Compile,
    ) -> None:
        self.name = name
        self.jsonata = jsonata
        self.entered = f"{self.kind}StateEntered"
        self.exited = f"{self.kind}StateExited"
        self.exit = self.read_exit(fields, "")
        self.retriers: tuple[Retrier, ...] = read_retriers(fields.get("Retry", ()))
        self.catchers = tuple(
            Catcher(frozenset(catcher["ErrorEquals"]), self.read_exit(catcher, f"Catch[{n}]/"))
            for n, catcher in enumerate(fields.get("Catch", ()))
        )
        self.read(fields, compile_program)

    def read(self, fields: Mapping[str, Any], compile_program: Compile) -> None:
        """Compile the fields of this type of state."""

    def enter(self, run: Run, strand: Strand) -> None:
        """Do the state's work, or begin it; also called for each retry.

        Raises:
            StatesError: the state failed at once.
        """
        raise NotImplementedError

    def payload(self, value: JsonValue, location: str) -> Payload:
        """Compile a field in the state's query language."""
        return compile_payload(value, location) if self.jsonata else constant(value)

    def optional(self, fields: Mapping[str, Any], name: str, prefix: str = "") -> Payload | None:
        """Compile a field that may be absent."""
        return self.payload(fields[name], prefix + name) if name in fields else None

    def read_exit(self, fields: Mapping[str, Any], prefix: str) -> Exit:
        """Compile Next, Assign and Output."""
        assign = self.optional(fields, "Assign", prefix)
        return Exit(fields.get("Next"), assign, self.optional(fields, "Output", prefix))
