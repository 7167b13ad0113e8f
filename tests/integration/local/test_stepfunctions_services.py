"""Tasks that call other AWS services through boto3, under AWS's names and shapes."""

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.stepfunctions.jsontext import JsonValue
from local.stepfunctions.testing import Execution, StepFunctions
from unit.local.stepfunctions.asl import machine


def client(service: str) -> Any:
    session: Any = boto3.session.Session("test", "test", region_name="us-east-1")
    return session.client(service)


@pytest.fixture
def sfn() -> Iterator[StepFunctions]:
    with mock_aws(config={"core": {"passthrough": {"urls": [r"http://127\.0\.0\.1.*"]}}}):
        yield StepFunctions(clients=client)


async def call(sfn: StepFunctions, resource: str, arguments: JsonValue) -> Execution:
    """Run a machine of one task."""
    prefix = "arn:aws:states:::"
    state = {"Type": "Task", "Resource": prefix + resource, "Arguments": arguments}
    return await sfn.start(machine(Call=state))


async def test_dynamodb_puts_and_gets_an_item(sfn: StepFunctions) -> None:
    client("dynamodb").create_table(
        TableName="t",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    item = {"id": {"S": "1"}, "n": {"N": "7"}}
    put = await call(sfn, "dynamodb:putItem", {"TableName": "t", "Item": item})
    assert put.output["SdkHttpMetadata"]["HttpStatusCode"] == 200
    key = {"TableName": "t", "Key": {"id": {"S": "1"}}}
    got = await call(sfn, "aws-sdk:dynamodb:getItem", key)
    assert got.output == {"Item": item}


async def test_a_missing_table_bears_each_integrations_own_name(sfn: StepFunctions) -> None:
    key = {"TableName": "none", "Key": {"id": {"S": "1"}}}
    optimised = await call(sfn, "dynamodb:getItem", key)
    assert optimised.error == "DynamoDB.ResourceNotFoundException"
    assert "(Service: AmazonDynamoDBv2; Status Code: 400;" in (optimised.cause or "")
    direct = await call(sfn, "aws-sdk:dynamodb:getItem", key)
    assert direct.error == "DynamoDb.ResourceNotFoundException"
    assert "(Service: DynamoDb, Status Code: 400, Request ID: " in (direct.cause or "")


async def test_a_queue_carries_the_token_out_and_the_answer_comes_back(sfn: StepFunctions) -> None:
    url = client("sqs").create_queue(QueueName="q")["QueueUrl"]
    body = {"token": "{% $states.context.Task.Token %}", "q": 1}
    arguments = {"QueueUrl": url, "MessageBody": body}
    execution = await call(sfn, "sqs:sendMessage.waitForTaskToken", arguments)
    assert execution.types[-1] == "TaskSubmitted"
    message = client("sqs").receive_message(QueueUrl=url)["Messages"][0]
    token = json.loads(message["Body"])["token"]
    sfn.engine.send_task_success(token, "7")
    assert execution.output == 7


async def test_events_are_put_and_a_bad_entry_fails_the_task(sfn: StepFunctions) -> None:
    good = {"Source": "s", "DetailType": "t", "Detail": {"a": 1}}
    done = await call(sfn, "events:putEvents", {"Entries": [good]})
    assert done.output["FailedEntryCount"] == 0
    bad = {**good, "Detail": "no json"}
    failed = await call(sfn, "events:putEvents", {"Entries": [bad]})
    assert failed.error == "EventBridge.FailedEntry"


async def test_a_topic_a_schedule_and_a_bucket(sfn: StepFunctions) -> None:
    arn = client("sns").create_topic(Name="t")["TopicArn"]
    published = await call(sfn, "sns:publish", {"TopicArn": arn, "Message": {"a": 1}})
    assert "MessageId" in published.output
    schedule = {
        "Name": "s",
        "ScheduleExpression": "rate(1 day)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": arn, "RoleArn": "arn:aws:iam::123456789012:role/r"},
    }
    made = await call(sfn, "aws-sdk:scheduler:createSchedule", schedule)
    assert made.output["ScheduleArn"].endswith("schedule/default/s")
    client("s3").create_bucket(Bucket="bucket-b")
    await call(sfn, "aws-sdk:s3:putObject", {"Bucket": "bucket-b", "Key": "k", "Body": {"a": 1}})
    got = await call(sfn, "aws-sdk:s3:getObject", {"Bucket": "bucket-b", "Key": "k"})
    assert json.loads(got.output["Body"]) == {"a": 1}


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Answers with what it was sent; /refused answers 403."""

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        self.send_response(403 if self.path.startswith("/refused") else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        told = {"path": self.path, "body": body.decode(), "key": self.headers.get("x-key")}
        self.wfile.write(json.dumps(told).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's word
        del format, args


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_an_http_endpoint_is_called_with_the_connections_key(
    sfn: StepFunctions, endpoint: str
) -> None:
    parameters = {"ApiKeyAuthParameters": {"ApiKeyName": "x-key", "ApiKeyValue": "k1"}}
    connection = client("events").create_connection(
        Name="c", AuthorizationType="API_KEY", AuthParameters=parameters
    )
    arguments = {
        "ApiEndpoint": f"{endpoint}/do",
        "Method": "POST",
        "Authentication": {"ConnectionArn": connection["ConnectionArn"]},
        "QueryParameters": {"a": "1"},
        "RequestBody": {"b": 2},
    }
    execution = await call(sfn, "http:invoke", arguments)
    assert execution.status == "SUCCEEDED", (execution.error, execution.cause)
    assert execution.output["StatusCode"] == 200
    body = execution.output["ResponseBody"]
    assert body == {"path": "/do?a=1", "body": '{"b":2}', "key": "k1"}


async def test_an_http_refusal_bears_its_status_code(sfn: StepFunctions, endpoint: str) -> None:
    arguments = {"ApiEndpoint": f"{endpoint}/refused", "Method": "POST"}
    execution = await call(sfn, "http:invoke", arguments)
    assert execution.error == "States.Http.StatusCode.403"
    silent = {"ApiEndpoint": "http://127.0.0.1:9", "Method": "GET"}
    assert (await call(sfn, "http:invoke", silent)).error == "States.Http.Socket"
