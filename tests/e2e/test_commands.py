"""The commands as a person runs them: what they print, how they end, what they leave behind."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-c", "from local.command import main; main()")
PATIENCE = 60


def _autoops(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )


def _descendants(pid: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def _alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if Path(f"/proc/{pid}").exists()}


def test_own_documents_are_answered_from_and_the_bad_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "farm.md").write_text("# Farm\n\nThe barn of the farm is painted red.")
    (tmp_path / "page.html").write_text("<title>House</title><p>The house is white.</p>")
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))
    done = _autoops(
        "run", "--documents", str(tmp_path), "--question", "What colour is the barn painted?"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "noise.bin: parse_failed: binary, or in an unknown encoding" in done.stdout
    assert "painted red" in done.stdout
    for state in ("OpenRun", "RetrieveContext", "AskModel", "CallModel", "PersistAnswer"):
        assert re.search(rf"→ {state} +entered", done.stdout)
        assert re.search(rf"✓ {state} +left after \d+ ms, attempt 1", done.stdout)
    record = json.loads(Path(done.stdout.split("Record")[1].split()[0]).read_text())
    machines = [one["describe"]["stateMachineArn"] for one in record["executions"]]
    assert [machine.rsplit(":", 1)[-1] for machine in machines] == [
        "autoops-answer-question",
        "autoops-ask-model",
    ]
    first = record["executions"][0]["history"]["events"][0]
    assert (first["id"], first["type"]) == (1, "ExecutionStarted")


def test_documents_without_any_text_end_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))
    done = _autoops("run", "--documents", str(tmp_path), "--question", "Why?")
    assert done.returncode == 2
    assert "none of them has text" in done.stdout


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = _autoops("up", "--port", str(port))
    assert done.returncode == 2
    assert f"Port {port} is taken" in done.stdout


def test_a_model_server_that_is_down_is_named_with_its_url() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    done = _autoops("run", "--model-server", url, "--model", "llama3.1")
    assert done.returncode == 2
    assert url in done.stdout


def test_the_smallest_budget_is_enough_for_a_model_that_costs_nothing() -> None:
    done = _autoops("run", "--budget", "0.000000001")
    assert done.returncode == 0
    assert "Cost    $0.00 of $0.000000001" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc to see what is left behind")
@pytest.mark.parametrize("moment", [0.1, 0.3, 1.0, 2.0, 3.0, 4.5])
def test_ctrl_c_at_any_moment_ends_everything(moment: float) -> None:
    running = subprocess.Popen(
        [*COMMAND, "up", "--port", "0"] if moment > 4 else [*COMMAND, "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(moment)
    family = _descendants(running.pid)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE)
    # One that comes before Python itself is up ends it as a signal does.
    assert running.returncode in (130, -signal.SIGINT), out + err
    assert "Traceback" not in out + err
    deadline = time.monotonic() + 10
    while _alive(family) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _alive(family) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc to see what is left behind")
def test_up_serves_boto3_until_ctrl_c() -> None:
    running = subprocess.Popen(
        [*COMMAND, "up", "--port", "0"], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert running.stdout is not None
    first = running.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+", first)
    assert found, first
    from local.stack import client_for

    machines = client_for(found[0], "stepfunctions").list_state_machines()["stateMachines"]
    assert "autoops-answer-question" in {machine["name"] for machine in machines}
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
