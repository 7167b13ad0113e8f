import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from local.invoke import InvokeRefusedError, InvokeResult
from local.lambdas.functions import LambdaFunction, Preload
from local.lambdas.service import Lambdas, Settings

NOTHING = Preload(modules=(), packages=(), clients=())
CODE = """
import os, subprocess, sys, time

print("loaded")

def echo(event, context):
    print("seen", event)
    return {"got": event, "version": context.function_version, "é": 1}

def raises(event, context):
    raise ValueError("no")

def sleeps(event, context):
    print("asleep")
    time.sleep(60)

def leaves(event, context):
    sys.exit(3)

def flaky(event, context):
    path = os.environ["COUNT"]
    with open(path, "a") as file:
        file.write("x")
    raise ValueError(open(path).read())

def huge(event, context):
    return "a" * 7_000_000

def spawns(event, context):
    child = subprocess.Popen(["sleep", "60"])
    print(child.pid)
    time.sleep(60)

def environment(event, context):
    return dict(os.environ)

def client(event, context):
    import boto3
    return boto3.client("dynamodb").meta.endpoint_url
"""


class Laptop:
    """The functions of these tests, what they log and what their events come to."""

    def __init__(self, root: Path) -> None:
        (root / "code.py").write_text(CODE)
        (root / "broken.py").write_text("import nothing_here\n")
        (root / "quits.py").write_text("import sys\nsys.exit(0)\n")
        self.lines: list[tuple[str, str]] = []
        self.failures: list[tuple[str, bytes, InvokeResult]] = []
        self.root = root
        names = ["echo", "raises", "leaves", "flaky", "huge", "environment", "client", "spawns"]
        functions = [self.function(name, f"code.{name}") for name in names]
        functions += [
            self.function("sleeps", "code.sleeps", timeout=30),
            self.function("late", "code.sleeps", timeout=0.3),
            self.function("single", "code.sleeps", concurrency=1, timeout=30),
            self.function("broken", "broken.handler"),
            self.function("quits", "quits.handler"),
            self.function("missing", "code.nothing"),
        ]
        self.lambdas = Lambdas(
            functions,
            Settings(root, "http://127.0.0.1:1", event_retries=(0.01, 0.01)),
            log=lambda name, line: self.lines.append((name, line)),
            on_event_failure=lambda *failure: self.failures.append(failure),
        )

    def function(
        self, name: str, handler: str, timeout: float = 30, concurrency: int = 100
    ) -> LambdaFunction:
        environment = {"COUNT": str(self.root / "count")}
        return LambdaFunction(
            name,
            handler,
            timeout=timeout,
            environment=environment,
            concurrency=concurrency,
            preload=NOTHING,
        )

    def logged(self, name: str) -> list[str]:
        return [line for known, line in self.lines if known == name]

    async def until_logged(self, name: str, line: str) -> None:
        while line not in self.logged(name):
            await asyncio.sleep(0.005)

    async def error(self, name: str) -> dict[str, Any]:
        result = await self.lambdas.invoke(name, b"{}")
        assert (result.status_code, result.function_error) == (200, "Unhandled")
        error: dict[str, Any] = json.loads(result.payload)
        return error


@pytest.fixture
async def laptop(tmp_path: Path) -> AsyncIterator[Laptop]:
    laptop = Laptop(tmp_path)
    await laptop.lambdas.start()
    yield laptop
    await laptop.lambdas.stop()


def alive(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False)
    return bool(shown.stdout.strip()) and not shown.stdout.strip().startswith(b"Z")


async def gone(pid: int) -> None:
    while alive(pid):
        await asyncio.sleep(0.01)


async def test_a_handler_answers_and_keeps_its_process(laptop: Laptop) -> None:
    first = await laptop.lambdas.invoke("echo", b'{"a":1}')
    pids = laptop.lambdas.workers("echo")
    await laptop.lambdas.invoke("echo", b"2")
    assert first.payload.decode() == '{"got": {"a": 1}, "version": "$LATEST", "é": 1}'
    assert laptop.lambdas.workers("echo") == pids
    assert len(pids) == 1


async def test_a_version_runs_as_that_version(laptop: Laptop) -> None:
    arn = "arn:aws:lambda:us-east-1:123456789012:function:echo:4"
    result = await laptop.lambdas.invoke(arn, b"{}")
    assert result.executed_version == "4"
    assert json.loads(result.payload)["version"] == "4"


async def test_what_a_function_prints_goes_to_the_log(laptop: Laptop) -> None:
    _, lines = await laptop.lambdas.invoke_with_log("echo", b"1")
    assert [line.split(" ")[0] for line in lines] == ["START", "seen", "END", "REPORT"]
    assert laptop.logged("echo") == ["loaded", *lines]


async def test_an_exception_is_reported_with_its_trace(laptop: Laptop) -> None:
    error = await laptop.error("raises")
    assert list(error) == ["errorMessage", "errorType", "requestId", "stackTrace"]
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "no")
    assert "in raises" in error["stackTrace"][0]


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("broken", "Runtime.ImportModuleError", "No module named 'nothing_here'"),
        ("missing", "Runtime.HandlerNotFound", "Handler 'nothing' missing on module 'code'"),
        ("quits", "Runtime.ExitError", "Error: Runtime exited without providing a reason"),
        ("leaves", "Runtime.ExitError", "Error: Runtime exited with error: exit status 3"),
        ("late", "Sandbox.Timedout", "Error: Task timed out after 0.30 seconds"),
        ("huge", "Function.ResponseSizeTooLarge", "(6291556 bytes)"),
    ],
)
async def test_every_way_to_fail_has_lambdas_error_type(
    laptop: Laptop, name: str, kind: str, message: str
) -> None:
    error = await laptop.error(name)
    assert error["errorType"] == kind
    assert message in error["errorMessage"]


async def test_a_killed_worker_fails_its_invocation_and_the_next_one_runs(laptop: Laptop) -> None:
    running = asyncio.create_task(laptop.error("sleeps"))
    await laptop.until_logged("sleeps", "asleep")
    (pid,) = laptop.lambdas.workers("sleeps")
    os.kill(pid, 9)
    error = await running
    assert error["errorType"] == "Runtime.ExitError"
    assert error["errorMessage"].endswith("Error: Runtime exited with error: signal: killed")
    assert laptop.lambdas.workers("sleeps") == []


async def test_ctrl_c_in_the_terminal_is_not_the_workers_to_handle(laptop: Laptop) -> None:
    await laptop.lambdas.warm("echo")
    (pid,) = laptop.lambdas.workers("echo")
    os.kill(pid, signal.SIGINT)
    assert (await laptop.lambdas.invoke("echo", b"1")).function_error is None
    assert os.getsid(pid) != os.getsid(0)
    assert laptop.lambdas.workers("echo") == [pid]


async def test_an_idle_worker_that_is_killed_is_replaced(laptop: Laptop) -> None:
    await laptop.lambdas.warm("echo")
    (pid,) = laptop.lambdas.workers("echo")
    os.kill(pid, 9)
    while laptop.lambdas.workers("echo"):
        await asyncio.sleep(0.005)
    assert (await laptop.lambdas.invoke("echo", b"1")).function_error is None
    assert laptop.lambdas.workers("echo") != [pid]


async def test_a_killed_zygote_is_replaced(laptop: Laptop) -> None:
    await laptop.lambdas.warm("echo")
    (worker,) = laptop.lambdas.workers("echo")
    (zygote,) = laptop.lambdas.zygotes
    os.kill(zygote, 9)
    while laptop.lambdas.workers("echo"):
        await asyncio.sleep(0.005)
    assert not alive(worker)
    assert (await laptop.lambdas.invoke("echo", b"1")).function_error is None


async def test_more_at_once_than_the_concurrency_is_refused(laptop: Laptop) -> None:
    running = asyncio.create_task(laptop.lambdas.invoke("single", b"{}"))
    await laptop.until_logged("single", "asleep")
    with pytest.raises(InvokeRefusedError) as refused:
        await laptop.lambdas.invoke("single", b"{}")
    assert refused.value.error == "Lambda.TooManyRequestsException"
    running.cancel()


async def test_calls_at_once_run_in_workers_of_their_own(laptop: Laptop) -> None:
    running = [asyncio.create_task(laptop.lambdas.invoke("sleeps", b"{}")) for _ in range(3)]
    while laptop.logged("sleeps").count("asleep") < len(running):
        await asyncio.sleep(0.005)
    assert len(set(laptop.lambdas.workers("sleeps"))) == len(running)
    for task in running:
        task.cancel()


async def test_an_event_is_retried_twice_then_reported(laptop: Laptop) -> None:
    accepted = await laptop.lambdas.invoke("flaky", b'{"n":1}', asynchronous=True)
    assert (accepted.status_code, accepted.payload) == (202, b"")
    while not laptop.failures:
        await asyncio.sleep(0.005)
    ((name, payload, result),) = laptop.failures
    assert (name, payload) == ("flaky", b'{"n":1}')
    assert json.loads(result.payload)["errorMessage"] == "xxx"


async def test_a_function_sees_only_what_lambda_gives_it(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", "x")
    seen = json.loads((await laptop.lambdas.invoke("environment", b"{}")).payload)
    assert "MY_SECRET" not in seen
    assert seen["_HANDLER"] == "code.environment"
    assert seen["COUNT"] == str(laptop.root / "count")


async def test_a_function_finds_aws_at_the_laptops_endpoint(laptop: Laptop) -> None:
    assert (await laptop.lambdas.invoke("client", b"{}")).payload == b'"http://127.0.0.1:1"'


async def test_a_timeout_or_a_stop_leaves_no_process_behind(tmp_path: Path) -> None:
    laptop = Laptop(tmp_path)
    running = asyncio.create_task(laptop.lambdas.invoke("spawns", b"{}"))
    while len(laptop.logged("spawns")) < 3:
        await asyncio.sleep(0.005)
    child = int(laptop.logged("spawns")[-1])
    (worker,) = laptop.lambdas.workers("spawns")
    await laptop.lambdas.stop()
    with pytest.raises(InvokeRefusedError, match="stopping"):
        await running
    await gone(child)
    await gone(worker)


async def test_a_broken_library_fails_the_functions_that_use_it_and_no_other(
    tmp_path: Path,
) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "__init__.py").write_text("")
    (tmp_path / "library" / "bad.py").write_text("def (\n")
    (tmp_path / "code.py").write_text(CODE)
    (tmp_path / "uses.py").write_text("import library.bad\n")
    preload = Preload(modules=("nowhere",), packages=("library",), clients=())
    functions = [
        LambdaFunction("echo", "code.echo", timeout=30, preload=preload),
        LambdaFunction("uses", "uses.handler", timeout=30, preload=preload),
    ]
    lambdas = Lambdas(functions, Settings(tmp_path))
    good, bad = [await lambdas.invoke(name, b"1") for name in ("echo", "uses")]
    await lambdas.stop()
    assert good.function_error is None
    assert json.loads(bad.payload)["errorType"] == "Runtime.UserCodeSyntaxError"


async def test_a_layers_modules_are_imported_once_beside_the_shared_ones(tmp_path: Path) -> None:
    (tmp_path / "layer.py").write_text("import os\nprint('layer', os.getpid())\n")
    (tmp_path / "code.py").write_text(CODE)
    functions = [
        LambdaFunction("plain", "code.echo", timeout=30, preload=NOTHING),
        *[
            LambdaFunction(name, "code.echo", timeout=30, preload=NOTHING.with_modules("layer"))
            for name in ("one", "two")
        ],
    ]
    lines: list[tuple[str, str]] = []
    lambdas = Lambdas(
        functions, Settings(tmp_path), log=lambda name, line: lines.append((name, line))
    )
    await lambdas.start()
    results = [await lambdas.invoke(name, b"1") for name in ("plain", "one", "two")]
    pids = [pid for name in ("plain", "one", "two") for pid in lambdas.workers(name)]
    await lambdas.stop()
    assert [result.function_error for result in results] == [None, None, None]
    assert len(lambdas.zygotes) == 0
    assert len([line for name, line in lines if name == "zygote" and "layer" in line]) == 1
    for pid in pids:
        await gone(pid)


async def test_an_invocation_takes_the_worker_that_warming_starts(laptop: Laptop) -> None:
    warming = asyncio.create_task(laptop.lambdas.warm("echo"))
    await asyncio.sleep(0)
    await laptop.lambdas.invoke("echo", b"1")
    await warming
    assert len(laptop.lambdas.workers("echo")) == 1


STACK = """
import asyncio, sys
from pathlib import Path
from local.lambdas.functions import LambdaFunction, Preload
from local.lambdas.service import Lambdas, Settings

async def main():
    function = LambdaFunction("sleeps", "code.sleeps", timeout=60, preload=Preload((), (), ()))
    lambdas = Lambdas([function], Settings(Path(sys.argv[1])))
    await lambdas.start()
    asyncio.create_task(lambdas.invoke("sleeps", b"{}"))
    while not lambdas.workers("sleeps"):
        await asyncio.sleep(0.01)
    print(*lambdas.zygotes, *lambdas.workers("sleeps"), flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_when_the_stack_is_killed_its_workers_end(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE)
    infra = str(Path(__file__).parents[4] / "infra")
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STACK), str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": infra},
    ) as stack:
        assert stack.stdout is not None
        pids = [int(text) for text in stack.stdout.readline().split()]
        assert all(alive(pid) for pid in pids)
        stack.kill()
    deadline = time.monotonic() + 20
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "A worker outlived the stack."
        await asyncio.sleep(0.01)
