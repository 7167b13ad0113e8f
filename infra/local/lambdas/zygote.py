"""The process that Lambda workers are forked from: it imports what they share, once.

Run by path, so that the functions see none of the laptop's own packages:
`python -P zygote.py <channel fd> <task root> <preload as JSON>`. It stays single-threaded.

The channel carries one JSON object a line. The stack sends {"environment": {...}} with the worker's
log pipe attached, or {"preload": {...}} with the channel of another zygote, to be forked from this
one with more imported. The answers are {"pid": n} in the same order and, whenever a child ends,
{"pid": n, "exit": code}, where a negative code is the signal. When the channel closes, the stack is
gone: every child is killed and the process ends.
"""

# ruff: noqa: TID251 - this process becomes the functions: their environment is its own to set

import array
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
# What awslambdaric imports, without itself: it reads its address and its log format when imported.
RUNTIME_MODULES = (
    "concurrent.futures.thread",
    "http.client",
    "simplejson",
    "awslambdaric.lambda_config",
    "awslambdaric.lambda_context",
    "awslambdaric.lambda_runtime_log_utils",
    "awslambdaric.lambda_runtime_marshaller",
)


class PythonRuntimeClient:
    """Stands in for awslambdaric's native `runtime_client`, which is built on Linux only."""

    def __init__(self) -> None:
        http_client = importlib.import_module("http.client")
        self._connection = http_client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])

    def next(self) -> tuple[bytes, dict[str, Any]]:
        """Wait for the next invocation: its payload and its headers."""
        body, response = self._call("GET", "invocation/next", None, {})
        headers: dict[str, Any] = dict(response.getheaders())
        headers["Lambda-Runtime-Deadline-Ms"] = int(headers["Lambda-Runtime-Deadline-Ms"])
        return body, headers

    def post_invocation_result(
        self, invoke_id: str, result: bytes, content_type: str, _invocation_id: str | None = None
    ) -> None:
        """Answer an invocation."""
        headers = {"Content-Type": content_type}
        self._call("POST", f"invocation/{invoke_id}/response", result, headers)

    def post_error(
        self, invoke_id: str, error: str, _xray: str, _invocation_id: str | None = None
    ) -> None:
        """Answer an invocation with an error object."""
        self._call("POST", f"invocation/{invoke_id}/error", error.encode(), {})

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _call(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[bytes, Any]:
        self._connection.request(method, f"/2018-06-01/runtime/{path}", body, headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 300:
            raise RuntimeError(f"Runtime API answered {response.status} to {path}.")
        return content, response


def preload(modules: list[str], packages: list[str], clients: list[str]) -> None:
    """Import what the workers share. What fails here, a function names when it imports it."""
    for name in [*RUNTIME_MODULES, *modules, *packages]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    for name in packages:
        for module in pkgutil.walk_packages(
            getattr(sys.modules.get(name), "__path__", []), f"{name}."
        ):
            with contextlib.suppress(Exception):
                importlib.import_module(module.name)
    if clients and "boto3" in sys.modules:
        for name in clients:
            sys.modules["boto3"].client(name)
    sys.stdout.flush()  # what a module printed is not every worker's to print again


def die_with(parent: int) -> None:
    """End when the zygote ends; elsewhere than on Linux the closing of the Runtime API does it."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def run_handler() -> None:
    """Run awslambdaric as Lambda does, with the environment as it is now."""
    client: Any = importlib.import_module("awslambdaric.lambda_runtime_client")
    if client.runtime_client is None:
        client.runtime_client = PythonRuntimeClient()
    importlib.import_module("awslambdaric.__main__").main(["", os.environ["_HANDLER"]])


def become_worker(environment: dict[str, str], log: int) -> None:
    """Turn a fresh fork into a function's process."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    run_handler()


def become_zygote(wanted: dict[str, list[str]], channel: int) -> None:
    """Turn a fresh fork into a zygote with more imported."""
    preload(**wanted)
    serve(channel)


def serve(channel: int) -> None:
    """Fork on request until the stack is gone."""
    gc.collect()
    gc.freeze()  # the workers share these pages
    zygote = Zygote(socket.socket(fileno=channel))
    try:
        zygote.serve()
    finally:
        zygote.kill_all()


def live(parent: int, order: dict[str, Any], descriptor: int) -> None:
    """The whole life of a fresh fork. Never returns."""
    code = 1
    try:
        os.setpgid(0, 0)
        die_with(parent)
        if "environment" in order:
            become_worker(order["environment"], descriptor)
        else:
            become_zygote(order["preload"], descriptor)
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:  # noqa: BLE001 - what ends a process is printed, whatever it is
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Zygote:
    """Forks workers on request and tells when they end."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.workers: set[int] = set()
        self.text = b""
        self.descriptors: list[int] = []
        self.wakeup, self.woken = socket.socketpair()
        self.wakeup.setblocking(False)
        self.woken.setblocking(False)

    def serve(self) -> None:
        """Answer the channel until it closes."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.woken.fileno(), warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ)
            selector.register(self.wakeup, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if self.wakeup in ready:
                    self.reap()
                if self.channel in ready and not self.receive():
                    return

    def receive(self) -> bool:
        """Take orders; False when the stack is gone."""
        data, ancillary, _, _ = self.channel.recvmsg(65536, socket.CMSG_SPACE(16 * 4))
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                numbers = array.array("i")
                numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
                self.descriptors.extend(numbers)
        self.text += data
        *lines, self.text = self.text.split(b"\n")
        for line in lines:
            self.fork(json.loads(line))
        return bool(data)

    def fork(self, order: dict[str, Any]) -> None:
        """Start one child and tell its process id."""
        descriptor = self.descriptors.pop(0)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self.release()
            live(parent, order, descriptor)
        os.close(descriptor)
        self.workers.add(pid)
        self.tell({"pid": pid})

    def reap(self) -> None:
        """Tell of every worker that ended."""
        with contextlib.suppress(BlockingIOError):
            self.wakeup.recv(4096)
        for pid in list(self.workers):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self.workers.discard(pid)
                self.tell({"pid": pid, "exit": os.waitstatus_to_exitcode(status)})

    def tell(self, message: dict[str, int]) -> None:
        """Write one message to the stack."""
        with contextlib.suppress(OSError):  # the stack is gone; the channel says so next
            self.channel.sendall(json.dumps(message).encode() + b"\n")

    def release(self) -> None:
        """In a child: give up what belongs to the zygote, orders not yet carried out among it."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for held in (self.channel, self.wakeup, self.woken):
            held.close()
        for descriptor in self.descriptors:
            os.close(descriptor)

    def kill_all(self) -> None:
        """Leave no worker behind, nor anything it started."""
        for pid in self.workers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def main(channel_fd: str, task_root: str, wanted: str) -> None:
    """Preload, then serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path.insert(0, task_root)
    os.chdir(Path(task_root))
    preload(**json.loads(wanted))
    serve(int(channel_fd))


if __name__ == "__main__":
    main(*sys.argv[1:])
