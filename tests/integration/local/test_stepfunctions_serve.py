"""`python -m local.stepfunctions` serves boto3 and survives kill -9 with its journal."""

import os
import resource
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
)

ROOT: Final = Path(__file__).parents[3]
WAIT: Final = '{"Type":"Wait","Seconds":60,"End":true}'
ASL: Final = f'{{"QueryLanguage":"JSONata","StartAt":"W","States":{{"W":{WAIT}}}}}'


class Server:
    """The process and a client of it."""

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        session: Any = boto3.session.Session("local", "local", region_name="us-east-1")
        config = Config(retries={"total_max_attempts": 1})
        url = f"http://127.0.0.1:{self.port}"
        self.client = session.client("stepfunctions", endpoint_url=url, config=config)
        self.process = self.start()

    def start(self) -> "subprocess.Popen[bytes]":
        paths = os.pathsep.join(str(ROOT / name) for name in ("functions", "infra"))
        program = [sys.executable, "-m", "local.stepfunctions", "--port", str(self.port)]
        program += ["--journal", str(self.journal)]
        environment = {**os.environ, "PYTHONPATH": paths}
        self.process = subprocess.Popen(program, env=environment)
        for _ in range(600):
            try:
                self.client.list_state_machines()
            except EndpointConnectionError:
                time.sleep(0.05)
            else:
                return self.process
        raise TimeoutError("the server does not answer")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "runs.db")
    yield server
    server.client.close()
    server.process.terminate()
    server.process.wait()


def test_what_was_answered_is_still_there_after_a_kill(server: Server) -> None:
    role = "arn:aws:iam::123456789012:role/r"
    created = server.client.create_state_machine(name="m", definition=ASL, roleArn=role)
    server.kill()
    server.start()
    arn = created["stateMachineArn"]
    started = server.client.start_execution(stateMachineArn=arn, name="one")
    server.kill()
    server.start()
    described = server.client.describe_execution(executionArn=started["executionArn"])
    assert described["status"] == "RUNNING"
    server.client.stop_execution(executionArn=started["executionArn"], error="Enough")
    server.kill()
    server.start()
    described = server.client.describe_execution(executionArn=started["executionArn"])
    assert (described["status"], described["error"]) == ("ABORTED", "Enough")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits a running process")
def test_when_the_disk_is_full_nothing_is_answered_and_the_process_ends(server: Server) -> None:
    role = "arn:aws:iam::123456789012:role/r"
    made = server.client.create_state_machine(name="m", definition=ASL, roleArn=role)
    one = server.client.start_execution(stateMachineArn=made["stateMachineArn"], name="one")
    log = server.journal.with_name(server.journal.name + "-wal")
    limits = (log.stat().st_size, resource.RLIM_INFINITY)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limits)
    with pytest.raises((ClientError, BotoCoreError)):
        server.client.start_execution(stateMachineArn=made["stateMachineArn"], name="two")
    assert server.process.wait(60) == 1
    server.start()
    listed = server.client.list_executions(stateMachineArn=made["stateMachineArn"])
    assert [entry["name"] for entry in listed["executions"]] == ["one"]
    described = server.client.describe_execution(executionArn=one["executionArn"])
    assert described["status"] == "RUNNING"


def test_what_ended_long_ago_is_gone_after_a_start(server: Server) -> None:
    role = "arn:aws:iam::123456789012:role/r"
    made = server.client.create_state_machine(name="m", definition=ASL, roleArn=role)
    for name in ("old", "young"):
        started = server.client.start_execution(stateMachineArn=made["stateMachineArn"], name=name)
        server.client.stop_execution(executionArn=started["executionArn"])
    server.kill()
    with closing(sqlite3.connect(server.journal, isolation_level=None)) as db:
        old = "summary = json_set(summary, '$.stopDate', 0)"
        db.execute(f"UPDATE execution SET {old} WHERE arn LIKE '%:old'")  # noqa: S608
    server.start()
    listed = server.client.list_executions(stateMachineArn=made["stateMachineArn"])
    assert [entry["name"] for entry in listed["executions"]] == ["young"]


def test_calls_with_a_host_prefix_arrive(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DISABLE_HOST_PREFIX_INJECTION", "true")
    session: Any = boto3.session.Session("local", "local", region_name="us-east-1")
    client = session.client("stepfunctions", endpoint_url=f"http://127.0.0.1:{server.port}")
    role = "arn:aws:iam::123456789012:role/r"
    state = '{"QueryLanguage":"JSONata","Type":"Pass","Output":"hi","End":true}'
    assert client.test_state(definition=state, roleArn=role)["output"] == '"hi"'
    text = f'{{"QueryLanguage":"JSONata","StartAt":"A","States":{{"A":{state}}}}}'
    made = client.create_state_machine(name="q", definition=text, roleArn=role, type="EXPRESS")
    answer = client.start_sync_execution(stateMachineArn=made["stateMachineArn"])
    assert (answer["status"], answer["output"]) == ("SUCCEEDED", '"hi"')
    client.close()
