"""What a handler writes: the log lines of Powertools and the metrics on standard output."""

import io
import json
import logging
from dataclasses import dataclass, field
from typing import Any

import pytest

from autoops import lambda_runtime


@dataclass
class Logs:
    """Catches both for one test; the logger keeps the stream of the first test otherwise."""

    capsys: pytest.CaptureFixture[str]
    stream: io.StringIO = field(default_factory=io.StringIO)
    text: str = ""

    def __post_init__(self) -> None:
        for handler in lambda_runtime._logger().handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(self.stream)

    def all(self) -> str:
        """Everything written so far."""
        out, err = self.capsys.readouterr()
        self.text += out + err
        return self.stream.getvalue() + self.text

    def lines(self) -> list[dict[str, Any]]:
        """Each line as JSON."""
        return [json.loads(line) for line in self.all().splitlines() if line]
