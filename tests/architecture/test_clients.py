"""A client makes one attempt, within a time that its function waits for."""

import inspect
from collections.abc import Iterator, Mapping
from typing import get_args, get_overloads

import pytest

from architecture.project import Json, Project, hold, step_module
from autoops.adapters import aws


def late_clients(project: Project, seconds: Mapping[str, int]) -> Iterator[str]:
    """A client that outlives its function is cut off in the middle, and its call is lost."""
    for name, properties in project.functions.items():
        longest = max(seconds[service] for service in _services(properties))
        if longest >= properties["Timeout"]:
            yield f"{name}: Timeout {properties['Timeout']} s is not over its client's {longest} s"


def _services(properties: Json) -> list[str]:
    kind, folder, *_ = properties["Handler"].split(".")
    source = inspect.getsource(step_module(folder, "handler", kind))
    bedrock = ["bedrock-runtime"] if "autoops.adapters.bedrock" in source else []
    return ["dynamodb", *bedrock]


def _client_services() -> list[str]:
    hints = [inspect.get_annotations(overload)["service"] for overload in get_overloads(aws.client)]
    return [service for hint in hints for service in get_args(hint)]


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> dict[str, Json]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return {name: aws._client.__wrapped__(name).meta.config for name in _client_services()}


def test_a_function_waits_longer_than_its_clients(
    project: Project, clients: Mapping[str, Json]
) -> None:
    hold(late_clients(project, _seconds(clients)))


def test_retries_of_a_client_multiply_its_timeout_past_the_function(project: Project) -> None:
    seconds = {"dynamodb": 13, "bedrock-runtime": 3 * 300}
    assert "CallModelFunction: Timeout 150 s is not over its client's 900 s" in set(
        late_clients(project, seconds)
    )


def test_clients_make_one_attempt_within_stated_timeouts(clients: Mapping[str, Json]) -> None:
    assert {"bedrock-runtime", "dynamodb", "s3"} <= clients.keys()
    for service, config in clients.items():
        read = aws.MODEL_READ_SECONDS if service == "bedrock-runtime" else aws.READ_SECONDS
        assert config.retries["total_max_attempts"] == 1, f"{service}: more than one attempt"
        assert config.read_timeout == read, f"{service}: read timeout {config.read_timeout}"
        assert config.connect_timeout == aws.CONNECT_SECONDS, f"{service}: connect timeout"


def _seconds(clients: Mapping[str, Json]) -> dict[str, int]:
    return {
        name: config.retries["total_max_attempts"] * (config.read_timeout + config.connect_timeout)
        for name, config in clients.items()
    }
