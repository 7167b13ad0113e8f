"""Settings are read once, whole, and a wrong one is named."""

from dataclasses import fields

import pytest

from autoops.config import Settings
from autoops.domain.money import NANO
from autoops.errors import InvalidInput

WHOLE = {
    **{field.name.upper(): "x" for field in fields(Settings)},
    "EMBEDDING_DIMENSIONS": "256",
    "ACCOUNT_CEILING": "10.00",
}


def test_settings_have_their_types() -> None:
    read = Settings.read(WHOLE)
    assert (read.embedding_dimensions, read.account_ceiling) == (256, 10 * NANO)


@pytest.mark.parametrize("missing", ["LEDGER_TABLE", "ACCOUNT_CEILING", "MACHINE_PREFIX"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_is_named(missing: str, value: str | None) -> None:
    environment = {name: text for name, text in WHOLE.items() if name != missing}
    with pytest.raises(InvalidInput, match=f"{missing} not set"):
        Settings.read(environment if value is None else {**environment, missing: value})


@pytest.mark.parametrize(
    ("variable", "value"),
    [("EMBEDDING_DIMENSIONS", "many"), ("EMBEDDING_DIMENSIONS", "-1"), ("ACCOUNT_CEILING", "lots")],
)
def test_a_variable_that_is_no_number_is_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=variable):
        Settings.read({**WHOLE, variable: value})
