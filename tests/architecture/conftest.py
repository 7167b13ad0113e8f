"""The project, read once."""

import pytest

from architecture.project import Project


@pytest.fixture(scope="session")
def project() -> Project:
    return Project.read()
