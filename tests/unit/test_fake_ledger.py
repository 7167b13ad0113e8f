"""The ledger in memory keeps what every ledger promises, so tests on it mean something."""

import pytest

from fakes import FakeLedger
from ledger_contract import LedgerContract


@pytest.fixture
def ledger() -> FakeLedger:
    return FakeLedger()


class TestFakeLedger(LedgerContract):
    """The whole contract."""
