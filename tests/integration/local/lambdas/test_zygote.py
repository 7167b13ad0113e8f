import asyncio
from typing import Any

import pytest

from local.lambdas import zygote
from local.lambdas.runtime_api import Invocation, RuntimeApi


class Heard:
    """Keeps what the runtime said."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []

    def runtime_ready(self) -> None:
        self.said.append(("ready",))

    def runtime_answered(self, request_id: str, payload: bytes) -> None:
        self.said.append(("answered", request_id, payload))

    def runtime_failed(self, request_id: str, payload: bytes) -> None:
        self.said.append(("failed", request_id, payload))

    def runtime_init_failed(self, payload: bytes) -> None:
        self.said.append(("init failed", payload))


async def test_a_runtime_without_its_native_client_is_served_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = Heard()
    api = RuntimeApi(heard)
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", await api.start())
    client = zygote.PythonRuntimeClient()
    api.submit(Invocation("id-1", "arn", 1_800_000_000_000, "trace", b'{"a":1}'))
    body, headers = await asyncio.to_thread(client.next)
    assert body == b'{"a":1}'
    assert headers["Lambda-Runtime-Aws-Request-Id"] == "id-1"
    assert headers["Lambda-Runtime-Deadline-Ms"] == 1_800_000_000_000
    await asyncio.to_thread(client.post_invocation_result, "id-1", b"2", "application/json")
    await asyncio.to_thread(client.post_error, "id-2", '{"é":1}', "")
    assert heard.said == [
        ("ready",),
        ("answered", "id-1", b"2"),
        ("failed", "id-2", '{"é":1}'.encode()),
    ]
    client.close()
    api.close()
