"""A bench with documents in its index, and no network."""

from collections.abc import AsyncIterator, Iterator

import pytest
from pytest_socket import disable_socket, enable_socket

from workflows.bench import Bench


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A bench with nothing in it."""
    made = Bench()
    yield made
    await made.engine.close()


@pytest.fixture
async def farm(bench: Bench) -> Bench:
    """A bench whose index holds one document."""
    bench.documents.files["farm.txt"] = b"The barn of the farm is painted red. The house is white."
    described = await bench.run("ingest-documents", {}, "ingest")
    assert described["status"] == "SUCCEEDED", described
    return bench
