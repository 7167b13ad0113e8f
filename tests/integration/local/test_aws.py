import asyncio
import io
from collections.abc import AsyncIterator
from typing import Any

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError

from integration.local.clients import events_client, options, s3_client
from local.aws import Moto, moto_services
from local.gateway import bind, gateway, serving


@pytest.fixture
async def url(moto: Moto) -> AsyncIterator[str]:
    async with serving(gateway(moto_services(moto)), bind(0)) as url:
        yield url


async def test_an_object_comes_back_as_it_went_in(url: str) -> None:
    s3 = s3_client(url)
    name = "tenant/a b%2F+é.md"
    body = bytes(range(256)) * 40

    def there_and_back() -> bytes:
        s3.create_bucket(Bucket="artifacts")
        s3.put_object(Bucket="artifacts", Key=name, Body=body, Metadata={"my_key": "v"})
        head = s3.head_object(Bucket="artifacts", Key=name)
        assert (head["ContentLength"], head["Metadata"]) == (len(body), {"my_key": "v"})
        (listed,) = s3.list_objects_v2(Bucket="artifacts", Prefix="tenant/")["Contents"]
        assert listed.get("Key") == name
        return s3.get_object(Bucket="artifacts", Key=name)["Body"].read()

    assert await asyncio.to_thread(there_and_back) == body


async def test_a_large_object_goes_up_in_parts(url: str) -> None:
    s3 = s3_client(url)

    def there_and_back() -> int:
        s3.create_bucket(Bucket="artifacts")
        s3.upload_fileobj(io.BytesIO(b"x" * 9_000_000), "artifacts", "large")
        return len(s3.get_object(Bucket="artifacts", Key="large")["Body"].read())

    assert await asyncio.to_thread(there_and_back) == 9_000_000


async def test_a_presigned_url_gives_the_object(url: str) -> None:
    s3 = s3_client(url)
    await asyncio.to_thread(s3.create_bucket, Bucket="artifacts")
    await asyncio.to_thread(s3.put_object, Bucket="artifacts", Key="k", Body=b"hello")
    presigned = s3.generate_presigned_url("get_object", Params={"Bucket": "artifacts", "Key": "k"})
    async with httpx.AsyncClient() as client:
        assert (await client.get(presigned)).content == b"hello"


async def test_a_missing_object_is_s3s_own_error(url: str) -> None:
    s3 = s3_client(url)
    await asyncio.to_thread(s3.create_bucket, Bucket="artifacts")
    with pytest.raises(ClientError, match="NoSuchKey"):
        await asyncio.to_thread(s3.get_object, Bucket="artifacts", Key="none")


async def test_the_stack_hears_of_accepted_events_only(url: str, moto: Moto) -> None:
    heard: list[list[dict[str, Any]]] = []
    moto.on_events = heard.append
    answer = await asyncio.to_thread(
        events_client(url).put_events,
        Entries=[
            {"Source": "shop", "DetailType": "Paid", "Detail": '{"n": 1}'},
            {"Source": "shop", "DetailType": "Paid", "Detail": "no json"},
        ],
    )
    assert answer["FailedEntryCount"] == 1
    ((entry,),) = heard
    assert (entry["Detail"], entry["Id"]) == ('{"n": 1}', answer["Entries"][0].get("EventId"))


def ask_sqs(url: str) -> object:
    sqs = boto3.client("sqs", **options(url))
    queue = sqs.create_queue(QueueName="q")["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody="hi")
    return sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"]


def ask_sns(url: str) -> object:
    return boto3.client("sns", **options(url)).create_topic(Name="t")["TopicArn"].split(":")[-1]


def ask_ssm(url: str) -> object:
    ssm = boto3.client("ssm", **options(url))
    ssm.put_parameter(Name="/a", Value="1", Type="String")
    return ssm.get_parameter(Name="/a")["Parameter"]["Value"]


def ask_scheduler(url: str) -> object:
    scheduler = boto3.client("scheduler", **options(url))
    scheduler.create_schedule(
        Name="nightly",
        FlexibleTimeWindow={"Mode": "OFF"},
        ScheduleExpression="rate(1 day)",
        Target={
            "Arn": "arn:aws:lambda:us-east-1:123456789012:function:f",
            "RoleArn": "arn:aws:iam::123456789012:role/r",
        },
    )
    return scheduler.list_schedules()["Schedules"][0]["Name"]


def ask_ses(url: str) -> object:
    boto3.client("ses", **options(url)).verify_email_identity(EmailAddress="a@example.com")
    answer = boto3.client("sesv2", **options(url)).send_email(
        FromEmailAddress="a@example.com",
        Destination={"ToAddresses": ["b@example.com"]},
        Content={"Simple": {"Subject": {"Data": "s"}, "Body": {"Text": {"Data": "t"}}}},
    )
    return bool(answer["MessageId"])


def ask_sts(url: str) -> object:
    return boto3.client("sts", **options(url)).get_caller_identity()["Account"]


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (ask_sqs, "hi"),
        (ask_sns, "t"),
        (ask_ssm, "1"),
        (ask_scheduler, "nightly"),
        (ask_ses, True),
        (ask_sts, "123456789012"),
    ],
)
async def test_every_service_answers_boto3(url: str, ask: Any, answer: object) -> None:
    assert await asyncio.to_thread(ask, url) == answer


async def test_an_operation_that_moto_lacks_is_named(url: str) -> None:
    events = events_client(url)
    with pytest.raises(ClientError, match="The local events does not have it"):
        await asyncio.to_thread(events.list_endpoints)
