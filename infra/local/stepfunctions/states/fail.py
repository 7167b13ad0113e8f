"""Fail: ends its strand with an error of its own."""

from collections.abc import Mapping
from typing import Any

from local.stepfunctions.errors import StatesError
from local.stepfunctions.flow import fail, give_up
from local.stepfunctions.payloads import expect
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.states.base import Compile, State


class Fail(State):
    """Fails with Error and Cause, either of which may be absent."""

    kind = "Fail"

    def read(self, fields: Mapping[str, Any], _: Compile) -> None:
        """Compile Error and Cause."""
        self._texts = {
            name: (self.payload(fields[name], name), fields[name])
            for name in ("Error", "Cause")
            if name in fields
        }

    def enter(self, run: Run, strand: Strand) -> None:
        """Fail at once."""
        scope = run.scope(strand)
        try:
            texts = {
                name: expect(payload, scope, "string", source, name)
                for name, (payload, source) in self._texts.items()
            }
        except StatesError as error:
            fail(run, strand, error)
            return
        give_up(run, strand, StatesError(texts.get("Error"), texts.get("Cause")))
