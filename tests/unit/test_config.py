"""Settings are read once, whole, and a wrong one is named."""

from dataclasses import fields
from datetime import timedelta

import pytest

from autoops.config import Settings
from autoops.domain.admissions import Limit, limit_of
from autoops.domain.money import NANO
from autoops.errors import InvalidInput

WHOLE = {
    **{field.name.upper(): "x" for field in fields(Settings)},
    "EMBEDDING_DIMENSIONS": "256",
    "ACCOUNT_CEILING": "10.00",
    "LIMITS": '{"*": {"concurrency": 20}, "amazon.nova-lite-v1:0": {"requests": 5, "tokens": 90}}',
    "LEASE": "90",
}


def test_settings_have_their_types() -> None:
    read = Settings.read(WHOLE)
    assert (read.embedding_dimensions, read.account_ceiling) == (256, 10 * NANO)
    assert read.lease == timedelta(seconds=90)
    assert limit_of(read.limits, "amazon.nova-lite-v1:0") == Limit(requests=5, tokens=90)
    assert limit_of(read.limits, "another") == Limit(concurrency=20)


@pytest.mark.parametrize("missing", ["LEDGER_TABLE", "ACCOUNT_CEILING", "MACHINE_PREFIX"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_is_named(missing: str, value: str | None) -> None:
    environment = {name: text for name, text in WHOLE.items() if name != missing}
    with pytest.raises(InvalidInput, match=f"{missing} not set"):
        Settings.read(environment if value is None else {**environment, missing: value})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("EMBEDDING_DIMENSIONS", "many"),
        ("EMBEDDING_DIMENSIONS", "-1"),
        ("ACCOUNT_CEILING", "lots"),
        ("LEASE", "0"),
        ("LEASE", "1.5"),
    ],
)
def test_a_variable_that_is_no_number_is_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=variable):
        Settings.read({**WHOLE, variable: value})


@pytest.mark.parametrize(
    "limits",
    [
        "20",
        "{",
        '{"*": 20}',
        '{"*": {"concurrency": 0}}',
        '{"*": {"concurrency": "20"}}',
        '{"*": {"calls": 20}}',
    ],
)
def test_limits_of_another_form_are_named(limits: str) -> None:
    with pytest.raises(InvalidInput, match="LIMITS: "):
        Settings.read({**WHOLE, "LIMITS": limits})
