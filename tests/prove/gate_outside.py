"""What lies around the workers: a provider that counts, executions and their task tokens."""

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

OKAY: Final = "okay"
KINDS: Final = ("throttled", "unavailable", "faulted", "hung up", "slow")
REFUSED: Final = {"throttled": 429, "unavailable": 503, "faulted": 500}
FREE: Final = frozenset({"throttled", "unavailable"})
"""Refusals that the provider does not charge."""


@dataclass(frozen=True)
class Asked:
    """One request that the provider got."""

    call: str
    kind: str
    number: int
    input: int
    output: int

    @property
    def charged(self) -> bool:
        """Whether the provider did the work."""
        return self.kind not in FREE


@dataclass
class Outside:
    """The provider's counter, the executions that run, and the tokens that are waited for.

    Attributes:
        asked: every request of the provider.
        running: redrive counts of the executions, None for one that does not run.
        slow: seconds that the provider takes when it is slow.
    """

    dice: random.Random
    slow: float = 0.6
    asked: list[Asked] = field(default_factory=list)
    running: dict[str, int | None] = field(default_factory=dict)
    _tokens: dict[str, "Token"] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve it on a free port of the loopback; gives its URL."""
        server = Server(self)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="outside")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def token(self, name: str) -> "Token":
        """A task token that somebody begins to wait for."""
        with self._lock:
            return self._tokens.setdefault(name, Token(name))

    def forget(self, token: "Token") -> None:
        """Nobody waits for the token any more."""
        with self._lock:
            self._tokens.pop(token.name, None)

    def answer(self, name: str, error: str | None) -> bool:
        """Answer a token; False when nobody waits for it."""
        with self._lock:
            token = self._tokens.pop(name, None)
        if token is None:
            return False
        token.error = error
        token.answered.set()
        return True

    def draw(self, call: str) -> Asked:
        """What becomes of a request, written down before it is answered."""
        with self._lock:
            kind = self.dice.choice(KINDS) if self.dice.random() < 0.3 else OKAY
            sizes = self.dice.randrange(100, 900), self.dice.randrange(10, 90)
            asked = Asked(call, kind, len(self.asked), *sizes)
            self.asked.append(asked)
        return asked


@dataclass
class Token:
    """A task token, and the error that it was answered with."""

    name: str
    error: str | None = None
    answered: threading.Event = field(default_factory=threading.Event)


class Server(ThreadingHTTPServer):
    """Serves what lies outside."""

    daemon_threads = True

    def __init__(self, outside: Outside) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.outside = outside


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server

    def do_POST(self) -> None:
        """Answer by path: the provider, a task token, or whether an execution runs."""
        length = int(self.headers["Content-Length"])
        given = json.loads(self.rfile.read(length))
        outside = self.server.outside
        if self.path == "/model":
            self._model(outside.draw(given["call"]))
        elif self.path == "/token":
            self._say(outside.answer(given["token"], given["error"]))
        else:
            self._say(outside.running.get(given["execution"]))

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _model(self, asked: Asked) -> None:
        time.sleep(self.server.outside.slow if asked.kind == "slow" else 0.02)
        if asked.kind == "hung up":
            self.close_connection = True
        elif asked.kind in REFUSED:
            self.send_error(REFUSED[asked.kind])
        else:
            said = {"text": str(asked.number), "input": asked.input, "output": asked.output}
            self._say(said)

    def _say(self, content: Any) -> None:
        body = json.dumps(content).encode()
        # Whoever asked may have been killed.
        with suppress(OSError):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
