"""The pytest plug-in: brings the fixtures `sfn` and `durable_sfn`, or says what they need."""

from typing import Final

import pytest

_NAME: Final = "autoops-stepfunctions-fixtures"


def pytest_configure(config: pytest.Config) -> None:
    """Bring the fixtures; without what they need, pytest still runs every other test."""
    try:
        from local.stepfunctions import fixtures
    except ModuleNotFoundError as missing:
        config.pluginmanager.register(_Missing(str(missing.name)), _NAME)
    else:
        config.pluginmanager.register(fixtures, _NAME)


class _Missing:
    """Fixtures that say which package is not there."""

    def __init__(self, package: str) -> None:
        self._package = package

    @pytest.fixture
    def sfn(self) -> None:
        """Fails with what to install."""
        self._fail()

    @pytest.fixture
    def durable_sfn(self) -> None:
        """Fails with what to install."""
        self._fail()

    def _fail(self) -> None:
        wanted = "pip install '<folder of autoops>[stepfunctions]'"
        pytest.fail(f"the fixture needs the package {self._package}: {wanted}", pytrace=False)
