"""Pass: hands its input on, or what Output makes of it."""

from collections.abc import Mapping
from typing import Any

from local.stepfunctions.flow import leave
from local.stepfunctions.jsontext import Json
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.states.base import Compile, State


class Pass(State):
    """Does nothing but set variables and shape its output."""

    kind = "Pass"

    def read(self, fields: Mapping[str, Any], _: Compile) -> None:
        """Keep Result, which Pass has where the query language is not JSONata."""
        self.result = Json(fields["Result"]) if "Result" in fields else None

    def enter(self, run: Run, strand: Strand) -> None:
        """Leave at once."""
        leave(run, strand, run.scope(strand), self.result or strand.input)
