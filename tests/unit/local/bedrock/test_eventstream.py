from botocore.eventstream import EventStreamBuffer

from local.bedrock.eventstream import event_frame, exception_frame


def test_botocore_reads_the_frames_and_their_checksums() -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(event_frame("messageStart", {"role": "assistant"}))
    buffer.add_data(exception_frame("throttlingException", "Too many requests"))
    event, error = (message.to_response_dict() for message in buffer)
    assert event["headers"][":event-type"] == "messageStart"
    assert event["body"] == b'{"role":"assistant"}'
    assert error["status_code"] == 400
    assert error["headers"][":exception-type"] == "throttlingException"
    assert error["body"] == b'{"message":"Too many requests"}'
