"""Every harmful change of a shipped machine is found by verification."""

import pytest

from local.verify.verdict import verify
from unit.local.verify.mutations import MUTATIONS, Mutation
from unit.local.verify.shipped import altered, settings


@pytest.mark.parametrize(
    "mutation", MUTATIONS, ids=[f"{name} {what}" for name, what, _ in MUTATIONS]
)
def test_harm_is_found(mutation: Mutation) -> None:
    name, _, change = mutation
    assert verify(altered({name: change}), settings()).refused
