from collections.abc import Iterator

import pytest

from local.aws import Moto, moto_app


@pytest.fixture
def moto() -> Iterator[Moto]:
    """moto behind its front, without anything in it before and after."""
    app = moto_app()
    app.reset()
    yield app
    app.reset()
