"""Replies and faults that tests lay down in advance, one per call, in order."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, cast, get_args

from local.bedrock.errors import invalid
from local.rest import JsonObject

Fault = Literal["kill", "bad_json", "truncate", "stream_error"]

_CAMEL: Final = {"stopReason": "stop_reason"}


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """One reply of a model, or one way of failing; without content the model itself answers.

    Attributes:
        text: the reply as a text block.
        tool: name of the tool to call; with `input` alone it is the tool that the request forces,
            or the first one.
        input: the tool's input, any JSON, so that a test can break the contract.
        output: the whole answer as the service would send it, with nothing added.
        stop_reason: Converse's stopReason; by default "tool_use" with a tool, else "end_turn".
        usage: Converse's usage; by default the deterministic count.
        error: name of an error to answer instead, such as "ThrottlingException".
        message: the error's sentence.
        fault: "kill" closes the connection in the middle of the answer, "bad_json" answers 200
            with half a document, "truncate" cuts the reply and stops with max_tokens,
            "stream_error" ends a stream in the middle with `error` (by default
            modelStreamErrorException). Before all of these the model has done its work.
        delay: seconds to wait before anything else.
    """

    text: str | None = None
    tool: str | None = None
    input: Any = None
    output: JsonObject | None = None
    stop_reason: str | None = None
    usage: JsonObject | None = None
    error: str | None = None
    message: str = ""
    fault: Fault | None = None
    delay: float = 0.0

    def __post_init__(self) -> None:
        if self.fault is not None and self.fault not in get_args(Fault):
            raise ValueError(f"fault must be one of {', '.join(get_args(Fault))}")
        if self.delay < 0:
            raise ValueError("delay must be at least 0 seconds")

    @property
    def has_content(self) -> bool:
        """Whether the script itself says what the model answers."""
        given = (self.text, self.tool, self.input, self.output)
        return any(value is not None for value in given)


class Script:
    """The replies laid down for one model."""

    def __init__(self, replies: Iterable[Scripted], *, repeat: bool = False) -> None:
        self._replies = deque(replies)
        self._repeat = repeat

    def __len__(self) -> int:
        return len(self._replies)

    def take(self) -> Scripted | None:
        """Give the next reply; a repeating script gives its last one for ever; None when empty."""
        if not self._replies:
            return None
        if self._repeat and len(self._replies) == 1:
            return self._replies[0]
        return self._replies.popleft()


def scripted_from(document: Mapping[str, Any]) -> Scripted:
    """Read one reply from JSON; the keys are the attributes, stopReason in Converse's spelling.

    Raises:
        ServiceError: ValidationException, naming what is not understood.
    """
    known = {field.name for field in fields(Scripted)}
    values = {_CAMEL.get(name, name): value for name, value in document.items()}
    unknown = sorted(set(values) - known)
    if unknown:
        raise invalid(f"A scripted reply has no {', '.join(unknown)}; it has {sorted(known)}.")
    try:
        return Scripted(**values)
    except (TypeError, ValueError) as error:
        raise invalid(str(error)) from error


def script_from(document: Any) -> Script:
    """Read a script: {"replies": [...], "repeat": false}, or the list alone.

    Raises:
        ServiceError: ValidationException, naming what is not understood.
    """
    body = {"replies": document} if isinstance(document, list) else document
    if not isinstance(body, dict) or not isinstance(body.get("replies"), list):
        raise invalid('A script is {"replies": [...], "repeat": false} or a list of replies.')
    replies = [scripted_from(cast("JsonObject", reply)) for reply in body["replies"]]
    return Script(replies, repeat=bool(body.get("repeat", False)))
