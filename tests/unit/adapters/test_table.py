"""What a batch leaves over is an error that is tried again whole, never a success."""

import pytest

from autoops.adapters.catalogue import DynamoCatalogue
from autoops.adapters.table import Table
from autoops.domain.contracts import Json
from autoops.errors import DependencyUnavailable
from unit.adapters.service import Service

DOCUMENTS = [f"{number}.md" for number in range(25)]
KEYS = {name: [f"default/{name}/0"] for name in DOCUMENTS}


def catalogue(service: Service) -> DynamoCatalogue:
    return DynamoCatalogue(Table(service.client("dynamodb"), "Ledger"))


def left(sent: Json, count: int) -> Json:
    return {"UnprocessedItems": {"Ledger": sent["RequestItems"]["Ledger"][:count]}}


def written(service: Service) -> Json:
    """The batch that a catalogue sends for these documents."""
    catalogue(service.says({})).keep_chunks("default", KEYS)
    return service.requests[-1]


def test_items_left_unwritten_are_tried_again_until_all_are_there() -> None:
    sent = written(Service())
    service = Service().says(left(sent, 3), left(sent, 3), {})
    for _ in range(2):
        with pytest.raises(DependencyUnavailable, match="left unwritten"):
            catalogue(service).keep_chunks("default", KEYS)
    catalogue(service).keep_chunks("default", KEYS)
    assert all(each == sent for each in service.requests), "the same 25 each time, so none is lost"
    assert len(sent["RequestItems"]["Ledger"]) == 25


def test_items_never_written_are_never_a_success() -> None:
    sent = written(Service())
    service = Service().says(*[left(sent, 1)] * 4)
    for _ in range(4):
        with pytest.raises(DependencyUnavailable):
            catalogue(service).keep_chunks("default", KEYS)


def test_keys_left_unread_are_an_error_and_not_absent() -> None:
    asked = {"Keys": [{"PK": {"S": "DOCUMENT#default#0.md"}, "SK": {"S": "CHUNKS"}}]}
    service = Service().says({"Responses": {"Ledger": []}, "UnprocessedKeys": {"Ledger": asked}})
    with pytest.raises(DependencyUnavailable, match="left unread"):
        catalogue(service).chunk_keys("default", DOCUMENTS)
