"""AWS's binary event-stream framing, as ConverseStream answers it.

A frame is: length and header length (4 bytes each, big endian), their CRC-32, the headers, the
payload, and the CRC-32 of all that came before.
"""

import binascii
import struct
from typing import Final

from local.rest import JsonObject, encode

CONTENT_TYPE: Final = b"application/vnd.amazon.eventstream"
_STRING: Final = 7
_OVERHEAD: Final = 16


def event_frame(event_type: str, payload: JsonObject) -> bytes:
    """Frame one event of the stream."""
    headers = {
        ":event-type": event_type,
        ":content-type": "application/json",
        ":message-type": "event",
    }
    return _frame(headers, encode(payload))


def exception_frame(exception_type: str, message: str) -> bytes:
    """Frame the error that ends a stream; its type begins in lower case: throttlingException."""
    headers = {
        ":exception-type": exception_type,
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return _frame(headers, encode({"message": message}))


def _header(name: str, value: str) -> bytes:
    raw_name, raw_value = name.encode(), value.encode()
    return (
        bytes([len(raw_name)])
        + raw_name
        + bytes([_STRING])
        + struct.pack(">H", len(raw_value))
        + raw_value
    )


def _frame(headers: dict[str, str], payload: bytes) -> bytes:
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", len(head) + len(payload) + _OVERHEAD, len(head))
    body = prelude + struct.pack(">I", binascii.crc32(prelude)) + head + payload
    return body + struct.pack(">I", binascii.crc32(body))
