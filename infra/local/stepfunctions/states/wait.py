"""Wait: lets time pass."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from local.stepfunctions.errors import RUNTIME, EvaluationError, StatesError
from local.stepfunctions.flow import fail, leave
from local.stepfunctions.payloads import expect
from local.stepfunctions.run import Run, Strand
from local.stepfunctions.states.base import Compile, State

_LONGEST_SECONDS: Final = 99_999_999
_STAMP: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(\.\d+)?(Z|[+-]\d\d:\d\d)")


class Wait(State):
    """Waits for some seconds or until a moment."""

    kind = "Wait"

    def read(self, fields: Mapping[str, Any], _: Compile) -> None:
        """Compile Seconds or Timestamp."""
        self._field = "Seconds" if "Seconds" in fields else "Timestamp"
        self._source = fields[self._field]
        self._when = self.payload(self._source, self._field)

    def enter(self, run: Run, strand: Strand) -> None:
        """Ask for the moment; leave at once when it has passed.

        Raises:
            StatesError: the field is no moment and no number of seconds.
        """
        due = self._due(run, strand)
        if due > run.now:
            strand.timer = run.set_timer(strand, due, self._over)
        else:
            leave(run, strand, run.scope(strand), strand.input)

    def _over(self, run: Run, strand: Strand) -> None:
        strand.timer = None
        try:
            leave(run, strand, run.scope(strand), strand.input)
        except StatesError as error:
            fail(run, strand, error)

    def _due(self, run: Run, strand: Strand) -> int:
        scope = run.scope(strand)
        if self._field == "Timestamp":
            text = expect(self._when, scope, "string", self._source, "Timestamp")
            return self._moment(text)
        seconds = expect(self._when, scope, "integer", self._source, "Seconds")
        if not 0 <= seconds <= _LONGEST_SECONDS:
            sentence = f"The Seconds field must be from 0 to {_LONGEST_SECONDS} but was: {seconds}"
            raise EvaluationError(sentence, "Seconds", after_entry=True)
        return run.now + round(float(seconds) * 1000)

    def _moment(self, text: str) -> int:
        found = _STAMP.fullmatch(text)
        try:
            if found is not None:
                # Python reads microseconds; what is finer than a millisecond does not matter.
                fraction = (found[2] or "")[:7]
                zone = found[3].replace("Z", "+00:00")
                stamp = datetime.fromisoformat(
                    f"{found[1]}{fraction.ljust(7, '0') if fraction else ''}{zone}"
                )
                return round(stamp.timestamp() * 1000)
        except ValueError:
            pass
        sentence = (
            "The Timestamp field cannot be parsed as an ISO-8601 extended offset"
            f" date-time format string: {text}"
        )
        if self.jsonata:
            raise EvaluationError(sentence, "Timestamp", after_entry=True)
        raise StatesError(RUNTIME, sentence)
