"""What went over the wire for `http:invoke`, as TestState shows it at the level TRACE."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer.

    Attributes:
        answer: what came back, with the request that was sent.
        secret_headers: the headers that the connection added, in lower case.
        secret_query: the query parameters that the connection added.
    """

    answer: "httpx.Response"
    secret_headers: frozenset[str]
    secret_query: frozenset[str]

    def shown(self, *, reveal: bool) -> dict[str, dict[str, Any]]:
        """The members `request` and `response` of inspectionData.

        Args:
            reveal: whether what the connection added is shown too.
        """
        sent, answer = self.answer.request, self.answer
        url = sent.url
        for key in () if reveal else self.secret_query:
            url = url.copy_remove_param(key)
        hidden = frozenset() if reveal else self.secret_headers
        request = {
            "protocol": sent.url.scheme,
            "method": sent.method,
            "url": str(url),
            "headers": _listed(sent.headers, hidden),
            "body": sent.content.decode(errors="replace"),
        }
        response = {
            "protocol": sent.url.scheme,
            "statusCode": str(answer.status_code),
            "statusMessage": answer.reason_phrase,
            "headers": _listed(answer.headers, frozenset()),
            "body": answer.text,
        }
        return {"request": request, "response": response}


def _listed(headers: "httpx.Headers", hidden: frozenset[str]) -> str:
    shown = (f"{name}: {value}" for name, value in headers.items() if name not in hidden)
    return f"[{', '.join(shown)}]"


_kept: ContextVar[list[Exchange] | None] = ContextVar("exchanges", default=None)


@contextmanager
def recorded() -> Iterator[list[Exchange]]:
    """Collect the exchanges of the tasks that run inside the block."""
    exchanges: list[Exchange] = []
    before = _kept.set(exchanges)
    try:
        yield exchanges
    finally:
        _kept.reset(before)


def note(exchange: Exchange) -> None:
    """Keep an exchange where somebody collects them."""
    exchanges = _kept.get()
    if exchanges is not None:
        exchanges.append(exchange)
