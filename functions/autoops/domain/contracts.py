"""The base of every contract: what steps take and give, and what the ledger keeps."""

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from autoops.errors import InvalidInput

Json = Any
"""A value that JSON can carry: dict with text keys, list, text, int, float, bool or None."""

PROBLEMS: Final = 20
PROBLEM_CHARACTERS: Final = 200
DECIMAL_DIGITS: Final = 1_000
"""Written out, 1e999999999 takes a gigabyte."""

Tenant = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
RunId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,80}$")]
WorkflowName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,62}$")]


class Contract(BaseModel):
    """A frozen, closed model: unknown fields, loose types, NaN and Infinity are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def read(cls, value: Json) -> Self:
        """Validate a JSON value.

        Raises:
            InvalidInput: names each field at fault and what is wrong with it, never its value.
        """
        try:
            return cls.model_validate_json(to_json(value))
        except ValidationError as error:
            raise InvalidInput(sentence_of(error)) from None


@dataclass(frozen=True)
class PerRedrive:
    """Marks a counter of a machine's loop that its step refuses above `most`.

    Each redrive of the execution allows one more: the machine goes on with the count it had.
    """

    most: int


class Run(Contract):
    """Which run a step works for; the same for a run and all its children.

    Attributes:
        id: name of the root execution.
        root: `<workflow>:<id>`; money, ledger and audit hang on it.
        workflow: name of the root's workflow.
        tenant: whose run it is.
        slice: the part of the run's money that is spent from, None for all of it.
    """

    id: RunId
    root: Annotated[str, Field(min_length=3, max_length=200)]
    workflow: WorkflowName
    tenant: Tenant
    slice: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @property
    def purse(self) -> str:
        """Where its money and its calls lie: at the root, or at the slice of it."""
        return self.root if self.slice is None else f"{self.root}/{self.slice}"


def sentence_of(error: ValidationError) -> str:
    """What is wrong, field by field, without the values, which may be private.

    At most `PROBLEMS` fields, each cut to `PROBLEM_CHARACTERS`: the sentence has to fit into a
    history, however many fields someone invents.
    """
    problems = error.errors(include_url=False, include_input=False)
    more = [f"and {len(problems) - PROBLEMS} more"] if len(problems) > PROBLEMS else []
    return "; ".join([*map(_problem, problems[:PROBLEMS]), *more])


def _problem(problem: Mapping[str, Any]) -> str:
    where = ".".join(map(str, problem["loc"]))[:PROBLEM_CHARACTERS] or "input"
    return f"{where}: {problem['msg'].removeprefix('Value error, ')[:PROBLEM_CHARACTERS]}"


def to_json(value: object) -> str:
    """The one serialiser: canonical JSON text, the same for equal values.

    Decimal becomes text with its digits kept, datetime ISO 8601 in UTC with `Z`, set a sorted list,
    bytes base64, a model its fields.

    Raises:
        InvalidInput: NaN, Infinity, a time without zone, or a type that JSON cannot carry.
    """
    return json.dumps(
        plain(value), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


def plain(value: object) -> Json:
    """The value as dicts, lists and scalars that JSON carries; see `to_json`."""
    if value is None or (isinstance(value, bool | int) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return _plain_scalar(value)


def _plain_scalar(value: object) -> Json:
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=to_json)
    if isinstance(value, Decimal):
        return _finite_decimal(value)
    return _plain_moment_or_bytes(value)


def _plain_moment_or_bytes(value: object) -> Json:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInput("a time without its zone cannot be written as JSON")
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise InvalidInput(f"a value of type {type(value).__name__} cannot be written as JSON")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInput("NaN and Infinity cannot be written as JSON")
    return value


def _finite_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise InvalidInput("NaN and Infinity cannot be written as JSON")
    _, digits, exponent = value.as_tuple()
    if len(digits) + abs(int(exponent)) > DECIMAL_DIGITS:
        raise InvalidInput(f"a decimal of over {DECIMAL_DIGITS} digits cannot be written as JSON")
    return format(value, "f")


def whole_text(text: str) -> str:
    """The text with each lone half of a surrogate pair as U+FFFD, so that UTF-8 can carry it."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
