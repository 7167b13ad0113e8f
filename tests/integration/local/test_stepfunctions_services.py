"""Tasks that call other AWS services through boto3, under AWS's names and shapes."""

import base64
import http.server
import io
import json
import threading
from collections.abc import Iterator
from typing import Any, Final

import boto3
import pytest
from botocore import xform_name
from botocore.response import StreamingBody
from botocore.stub import Stubber
from moto import mock_aws

from local.stepfunctions.api.app import respond
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


@pytest.mark.parametrize(
    ("resource", "service", "code", "error"),
    [
        ("aws-sdk:s3:getObject", "s3", "NoSuchKey", "S3.NoSuchKeyException"),
        ("aws-sdk:s3:getObject", "s3", "SlowDown", "S3.S3Exception"),
        ("aws-sdk:sfn:sendTaskSuccess", "stepfunctions", "TaskTimedOut",
         "Sfn.TaskTimedOutException"),
        (
            "aws-sdk:bedrockruntime:converse",
            "bedrock-runtime",
            "ThrottlingException",
            "BedrockRuntime.ThrottlingException",
        ),
        (
            "aws-sdk:dynamodb:putItem",
            "dynamodb",
            "ConditionalCheckFailedException",
            "DynamoDb.ConditionalCheckFailedException",
        ),
        (
            "aws-sdk:dynamodb:putItem",
            "dynamodb",
            "InternalServerError",
            "DynamoDb.InternalServerErrorException",
        ),
        ("aws-sdk:dynamodb:putItem", "dynamodb", "Strange", "DynamoDb.DynamoDbException"),
        (
            "aws-sdk:cloudwatchlogs:createLogGroup",
            "logs",
            "ResourceAlreadyExistsException",
            "CloudWatchLogs.ResourceAlreadyExistsException",
        ),
        (
            "aws-sdk:scheduler:createSchedule",
            "scheduler",
            "ConflictException",
            "Scheduler.ConflictException",
        ),
        ("sns:publish", "sns", "NotFound", "SNS.NotFoundException"),
        (
            "sqs:sendMessage",
            "sqs",
            "AWS.SimpleQueueService.NonExistentQueue",
            "SQS.QueueDoesNotExistException",
        ),
        ("sqs:sendMessage", "sqs", "AccessDenied", "SQS.AmazonSQSException"),
        ("dynamodb:putItem", "dynamodb", "ValidationException", "DynamoDB.AmazonDynamoDBException"),
        ("bedrock:invokeModel", "bedrock-runtime", "ModelTimeoutException",
         "Bedrock.ModelTimeoutException"),
    ],
)  # fmt: skip
async def test_a_services_refusal_bears_the_name_step_functions_gives_it(
    resource: str, service: str, code: str, error: str
) -> None:
    asked: list[str] = []

    def refusing(name: str) -> Any:
        asked.append(name)
        made = client(name)
        stubber = Stubber(made)
        action = resource.rsplit(":", 1)[1]
        method = xform_name(action[0].upper() + action[1:])
        meta = {"QueryErrorCode": "QueueDoesNotExist"} if "NonExistentQueue" in code else {}
        stubber.add_client_error(method, code, "no", service_error_meta=meta)
        stubber.activate()
        return made

    sfn = StepFunctions(clients=refusing)
    execution = await call(sfn, resource, NEEDED[service])
    assert (asked, execution.error) == ([service], error)


NEEDED: Final[dict[str, JsonValue]] = {
    "s3": {"Bucket": "bucket", "Key": "k"},
    "stepfunctions": {"TaskToken": "t", "Output": "1"},
    "bedrock-runtime": {"ModelId": "m", "Body": {}, "Messages": []},
    "dynamodb": {"TableName": "t", "Item": {}},
    "logs": {"LogGroupName": "g"},
    "scheduler": {
        "Name": "s",
        "ScheduleExpression": "rate(1 day)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": "a", "RoleArn": "r"},
    },
    "sns": {"TopicArn": "t", "Message": "m"},
    "sqs": {"QueueUrl": "https://q", "MessageBody": "m"},
}
"""Arguments that boto3 accepts, by service."""


async def test_a_model_is_invoked_and_its_body_is_json() -> None:
    def answering(name: str) -> Any:
        made = client(name)
        stubber = Stubber(made)
        body = StreamingBody(io.BytesIO(b'{"text": "hi"}'), 14)
        sent = {"modelId": "m", "body": '{"prompt":"hello"}'}
        answer = {"body": body, "contentType": "application/json"}
        stubber.add_response("invoke_model", answer, sent)
        stubber.activate()
        return made

    arguments = {"ModelId": "m", "Body": {"prompt": "hello"}}
    optimised = await call(StepFunctions(clients=answering), "bedrock:invokeModel", arguments)
    assert optimised.output == {"Body": {"text": "hi"}, "ContentType": "application/json"}
    direct = "aws-sdk:bedrockruntime:invokeModel"
    plain = await call(StepFunctions(clients=answering), direct, arguments)
    assert plain.output["Body"] == '{"text": "hi"}'


async def test_what_is_no_service_or_cannot_be_waited_for_is_said(sfn: StepFunctions) -> None:
    unknown = await call(sfn, "aws-sdk:nonesuch:do", {})
    assert (unknown.error, "nonesuch" in (unknown.cause or "")) == ("States.Runtime", True)
    action = await call(sfn, "aws-sdk:sqs:doNothing", {})
    assert (action.error, "doNothing" in (action.cause or "")) == ("States.Runtime", True)
    job = await call(sfn, "glue:startJobRun.sync", {"JobName": "j"})
    assert (job.error, "startJobRun.sync" in (job.cause or "")) == ("States.Runtime", True)


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Answers with what it was sent; /refused answers 403, /token gives a token."""

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if self.path == "/token":
            self.give_token(body.decode())
            return
        self.send_response(403 if self.path.startswith("/refused") else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        told = {"path": self.path, "body": body.decode(), "key": self.headers.get("x-key")}
        told |= {
            "authorization": self.headers.get("Authorization"),
            "tenant": self.headers.get("x-tenant"),
            "type": self.headers.get("Content-Type"),
        }
        self.wfile.write(json.dumps(told).encode())

    def give_token(self, form: str) -> None:
        right = "client_id=me&client_secret=mine&scope=all" in form
        self.send_response(200 if right else 401)
        self.end_headers()
        self.wfile.write(b'{"access_token": "t0"}' if right else b"no")

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
    assert (body["path"], body["body"], body["key"]) == ("/do?a=1", '{"b":2}', "k1")


async def called(sfn: StepFunctions, url: str, **arguments: JsonValue) -> Execution:
    return await call(sfn, "http:invoke", {"ApiEndpoint": url, "Method": "POST", **arguments})


def connected(kind: str, **parameters: JsonValue) -> dict[str, Any]:
    made = client("events").create_connection(
        Name=f"c-{kind.lower()}", AuthorizationType=kind, AuthParameters=parameters
    )
    return {"Authentication": {"ConnectionArn": made["ConnectionArn"]}}


async def test_a_connection_adds_a_password_headers_and_query(
    sfn: StepFunctions, endpoint: str
) -> None:
    plain = {"IsValueSecret": False}
    parameters = {
        "HeaderParameters": [{"Key": "x-tenant", "Value": "blue", **plain}],
        "QueryStringParameters": [{"Key": "v", "Value": "2", **plain}],
    }
    connection = connected(
        "BASIC",
        BasicAuthParameters={"Username": "ann", "Password": "pw"},
        InvocationHttpParameters=parameters,
    )
    execution = await called(sfn, f"{endpoint}/do", **connection)
    assert execution.status == "SUCCEEDED", (execution.error, execution.cause)
    body = execution.output["ResponseBody"]
    pair = base64.b64encode(b"ann:pw").decode()
    assert body["authorization"] == f"Basic {pair}"
    assert (body["path"], body["tenant"]) == ("/do?v=2", "blue")


async def test_a_connection_fetches_a_token_first(sfn: StepFunctions, endpoint: str) -> None:
    def oauth(secret: str) -> dict[str, Any]:
        return {
            "ClientParameters": {"ClientID": "me", "ClientSecret": secret},
            "AuthorizationEndpoint": f"{endpoint}/token",
            "HttpMethod": "POST",
            "OAuthHttpParameters": {
                "BodyParameters": [{"Key": "scope", "Value": "all", "IsValueSecret": False}]
            },
        }

    kind = "OAUTH_CLIENT_CREDENTIALS"
    connection = connected(kind, OAuthParameters=oauth("mine"))
    execution = await called(sfn, f"{endpoint}/do", **connection)
    assert execution.status == "SUCCEEDED", (execution.error, execution.cause)
    assert execution.output["ResponseBody"]["authorization"] == "Bearer t0"
    client("events").delete_connection(Name=f"c-{kind.lower()}")
    refused = await called(
        sfn, f"{endpoint}/do", **connected(kind, OAuthParameters=oauth("theirs"))
    )
    assert refused.error == "States.Http.StatusCode.Authorization"


async def test_a_form_is_sent_as_one_and_headers_go_with_it(
    sfn: StepFunctions, endpoint: str
) -> None:
    execution = await called(
        sfn,
        f"{endpoint}/do",
        RequestBody={"a": [1, 2]},
        Headers={"x-tenant": "red"},
        Transform={"RequestBodyEncoding": "URL_ENCODED"},
    )
    body = execution.output["ResponseBody"]
    assert (body["body"], body["tenant"]) == ("a=1&a=2", "red")
    assert body["type"] == "application/x-www-form-urlencoded"


async def test_a_trace_shows_the_request_and_hides_what_the_connection_added(
    sfn: StepFunctions, endpoint: str
) -> None:
    parameters = {"QueryStringParameters": [{"Key": "v", "Value": "2", "IsValueSecret": True}]}
    connection = connected(
        "API_KEY",
        ApiKeyAuthParameters={"ApiKeyName": "x-key", "ApiKeyValue": "k1"},
        InvocationHttpParameters=parameters,
    )
    arguments = {
        "ApiEndpoint": f"{endpoint}/do",
        "Method": "POST",
        "QueryParameters": {"a": "1"},
        "RequestBody": {"b": 2},
        **connection,
    }
    resource = "arn:aws:states:::http:invoke"
    state = {"QueryLanguage": "JSONata", "Type": "Task", "Resource": resource, "End": True}
    definition = json.dumps({**state, "Arguments": arguments})

    async def shown(**params: JsonValue) -> dict[str, Any]:
        body = json.dumps({"definition": definition, **params}).encode()
        _, answer = await respond(sfn.engine, "TestState", body)
        assert answer["status"] == "SUCCEEDED", answer
        data: dict[str, Any] = answer["inspectionData"]
        return data

    hidden = await shown(inspectionLevel="TRACE")
    assert hidden["request"]["url"] == f"{endpoint}/do?a=1"
    assert (hidden["request"]["method"], hidden["request"]["body"]) == ("POST", '{"b":2}')
    assert "k1" not in hidden["request"]["headers"]
    assert "content-type: application/json" in hidden["request"]["headers"]
    assert (hidden["response"]["statusCode"], hidden["response"]["statusMessage"]) == ("200", "OK")
    assert json.loads(hidden["response"]["body"])["key"] == "k1"
    revealed = await shown(inspectionLevel="TRACE", revealSecrets=True)
    assert revealed["request"]["url"] == f"{endpoint}/do?a=1&v=2"
    assert "x-key: k1" in revealed["request"]["headers"]
    assert "request" not in await shown(inspectionLevel="DEBUG")


async def test_an_http_refusal_bears_its_status_code(sfn: StepFunctions, endpoint: str) -> None:
    arguments = {"ApiEndpoint": f"{endpoint}/refused", "Method": "POST"}
    execution = await call(sfn, "http:invoke", arguments)
    assert execution.error == "States.Http.StatusCode.403"
    silent = {"ApiEndpoint": "http://127.0.0.1:9", "Method": "GET"}
    assert (await call(sfn, "http:invoke", silent)).error == "States.Http.Socket"
