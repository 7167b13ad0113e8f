"""Which chunks the vector index holds of each document: S3 Vectors deletes by key only."""

from collections.abc import Mapping, Sequence
from functools import cache

from autoops.adapters.aws import client
from autoops.adapters.expressions import Item, put, value_of
from autoops.adapters.table import Table
from autoops.config import settings


class DynamoCatalogue:
    """`autoops.ports.Catalogue` on the ledger's table: PK `DOCUMENT#<tenant>#<document>`."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def chunk_keys(self, tenant: str, documents: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """See `Catalogue.chunk_keys`."""
        items = self._table.get_all([_document(tenant, document) for document in documents])
        found = {value_of(item, "PK"): frozenset(value_of(item, "keys")) for item in items}
        return {
            document: found.get(value_of(_document(tenant, document), "PK"), frozenset())
            for document in documents
        }

    def keep_chunks(self, tenant: str, keys: Mapping[str, Sequence[str]]) -> None:
        """See `Catalogue.keep_chunks`."""
        self._table.put_all(
            [put(_document(tenant, name), {"keys": list(kept)}) for name, kept in keys.items()]
        )


@cache
def catalogue() -> DynamoCatalogue:
    """The catalogue of this process."""
    return DynamoCatalogue(Table(client("dynamodb"), settings().ledger_table))


def _document(tenant: str, document: str) -> Item:
    return {"PK": {"S": f"DOCUMENT#{tenant}#{document}"}, "SK": {"S": "CHUNKS"}}
