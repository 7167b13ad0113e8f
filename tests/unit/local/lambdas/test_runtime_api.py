import pytest

from local.lambdas.runtime_api import BadRequestError, RuntimeRequest, take_request

RESPONSE = (
    b"POST /2018-06-01/runtime/invocation/7/response HTTP/1.1\r\n"
    b"Host: x\r\nContent-Length: 5\r\n\r\nhello"
)


def test_a_request_in_pieces_is_whole_only_at_its_last_byte() -> None:
    buffer = bytearray()
    for byte in RESPONSE[:-1]:
        buffer.append(byte)
        assert take_request(buffer) is None
    buffer += RESPONSE[-1:]
    taken = take_request(buffer)
    assert taken == RuntimeRequest("POST", "/2018-06-01/runtime/invocation/7/response", b"hello")
    assert buffer == b""


def test_what_follows_a_request_stays_in_the_buffer() -> None:
    buffer = bytearray(RESPONSE + b"GET /next HTTP/1.1\r\n\r\n")
    take_request(buffer)
    assert take_request(buffer) == RuntimeRequest("GET", "/next", b"")


def test_a_length_that_is_no_number_is_refused() -> None:
    with pytest.raises(BadRequestError, match="Content-Length"):
        take_request(bytearray(b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n"))
