"""Distributed Map: readers, batches, tolerated failures, results in S3, redrive."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.stepfunctions.api.app import respond
from local.stepfunctions.jsontext import JsonValue, dumps
from local.stepfunctions.testing import Execution, StepFunctions
from unit.local.stepfunctions.asl import distributed, machine, program, task


def client(service: str) -> Any:
    session: Any = boto3.session.Session("test", "test", region_name="us-east-1")
    return session.client(service)


@pytest.fixture
def sfn() -> Iterator[StepFunctions]:
    with mock_aws():
        client("s3").create_bucket(Bucket="data")
        yield StepFunctions(clients=client)


def put(key: str, body: str) -> None:
    client("s3").put_object(Bucket="data", Key=key, Body=body.encode())


def reader(kind: str, key: str, **config: JsonValue) -> dict[str, Any]:
    return {
        "Resource": "arn:aws:states:::s3:getObject",
        "Arguments": {"Bucket": "data", "Key": key},
        "ReaderConfig": {"InputType": kind, **config},
    }


async def output(sfn: StepFunctions, state: dict[str, Any], given: JsonValue = None) -> JsonValue:
    execution = await sfn.finish(await sfn.start(machine(All=state), given))
    assert execution.status == "SUCCEEDED", (execution.error, execution.cause)
    return execution.output


async def test_each_format_is_read_as_aws_reads_it(sfn: StepFunctions) -> None:
    put("a.json", "[1, 2]")
    put("a.jsonl", '{"n": 1}\n{"n": 2}\n')
    put("a.csv", "id,name\n1,ann\n2,bob\n")
    put("b.csv", "1;ann;extra\n2\n")
    given = {"CSVHeaderLocation": "GIVEN", "CSVHeaders": ["id", "name"]}
    assert await output(sfn, distributed(ItemReader=reader("JSON", "a.json"))) == [1, 2]
    lines = distributed(ItemReader=reader("JSONL", "a.jsonl", MaxItems=1))
    assert await output(sfn, lines) == [{"n": 1}]
    table = distributed(ItemReader=reader("CSV", "a.csv", CSVHeaderLocation="FIRST_ROW"))
    assert await output(sfn, table) == [{"id": "1", "name": "ann"}, {"id": "2", "name": "bob"}]
    semicolons = reader("CSV", "b.csv", CSVDelimiter="SEMICOLON", **given)
    expected = [{"id": "1", "name": "ann"}, {"id": "2", "name": ""}]
    assert await output(sfn, distributed(ItemReader=semicolons)) == expected


@pytest.mark.parametrize(
    ("name", "sign"),
    [("COMMA", ","), ("PIPE", "|"), ("SEMICOLON", ";"), ("SPACE", " "), ("TAB", "\t")],
)
async def test_every_delimiter_of_a_table_is_known(
    sfn: StepFunctions, name: str, sign: str
) -> None:
    put("a.csv", f"id{sign}name\n1{sign}ann\n")
    config = {"CSVHeaderLocation": "FIRST_ROW", "CSVDelimiter": name}
    state = distributed(ItemReader=reader("CSV", "a.csv", **config))
    assert await output(sfn, state) == [{"id": "1", "name": "ann"}]


async def test_a_reader_takes_a_part_of_a_document_and_no_more_items_than_asked(
    sfn: StepFunctions,
) -> None:
    put("a.json", '{"found": {"items": [1, 2, 3]}}')
    config = {"ItemsPointer": "/found/items", "MaxItems": "{% $states.input.most %}"}
    state = distributed(ItemReader=reader("JSON", "{% $states.input.key %}", **config))
    assert await output(sfn, state, {"most": 2, "key": "a.json"}) == [1, 2]


@pytest.mark.parametrize(
    ("kind", "key", "body"),
    [
        ("JSON", "a.json", "{"),
        ("JSON", "b.json", '{"no": "array"}'),
        ("JSONL", "a.jsonl", '{"n": 1}\n{"n":'),
        ("CSV", "a.csv", "id,id\n1,2\n"),
        ("MANIFEST", "m.json", "{}"),
        ("PARQUET", "a.parquet", "PAR1"),
        ("JSON", "missing.json", None),
    ],
)
async def test_what_cannot_be_read_fails_the_map_by_awss_name(
    sfn: StepFunctions, kind: str, key: str, body: str | None
) -> None:
    if body is not None:
        put(key, body)
    catch = [{"ErrorEquals": ["States.ItemReaderFailed"], "Next": "After"}]
    state = distributed(ItemReader=reader(kind, key), Catch=catch, Next="After")
    execution = await sfn.start(machine(All=state, After={"Type": "Pass"}))
    assert execution.output["Error"] == "States.ItemReaderFailed"


async def test_a_listing_gives_the_objects_of_a_bucket(sfn: StepFunctions) -> None:
    put("docs/1", "a")
    put("docs/2", "bb")
    listing = {
        "Resource": "arn:aws:states:::s3:listObjectsV2",
        "Arguments": {"Bucket": "data", "Prefix": "docs/"},
    }
    selector = {"key": "{% $states.context.Map.Item.Value.Key %}"}
    state = distributed(ItemReader=listing, ItemSelector=selector)
    assert await output(sfn, state) == [{"key": "docs/1"}, {"key": "docs/2"}]


async def test_a_manifest_names_the_files_to_read(sfn: StepFunctions) -> None:
    put("part.csv", '"data","docs/1"\n"data","docs/2"\n')
    manifest = {
        "destinationBucket": "arn:aws:s3:::data",
        "fileSchema": "Bucket, Key",
        "files": [{"key": "part.csv"}],
    }
    put("manifest.json", json.dumps(manifest))
    state = distributed(ItemReader=reader("MANIFEST", "manifest.json"))
    keys = [item["Key"] for item in await output(sfn, state)]
    assert keys == ["docs/1", "docs/2"]


async def test_the_files_of_a_manifest_may_be_compressed(sfn: StepFunctions) -> None:
    body = gzip.compress(b'"data","docs/1"\n')
    client("s3").put_object(Bucket="data", Key="part.csv.gz", Body=body)
    files = {"fileSchema": "Bucket, Key", "files": [{"key": "part.csv.gz"}]}
    put("manifest.json", json.dumps({"destinationBucket": "arn:aws:s3:::data", **files}))
    state = distributed(ItemReader=reader("MANIFEST", "manifest.json"))
    assert await output(sfn, state) == [{"Bucket": "data", "Key": "docs/1"}]


async def test_batches_keep_to_their_size_and_carry_the_batch_input(sfn: StepFunctions) -> None:
    batcher = {"MaxItemsPerBatch": 2, "BatchInput": {"run": "{% $states.input.run %}"}}
    state = distributed(Items="{% $states.input.items %}", ItemBatcher=batcher)
    given = {"run": "r1", "items": [1, 2, 3]}
    assert await output(sfn, state, given) == [
        {"BatchInput": {"run": "r1"}, "Items": [1, 2]},
        {"BatchInput": {"run": "r1"}, "Items": [3]},
    ]


async def test_children_see_no_outer_variable(sfn: StepFunctions) -> None:
    look = {"Type": "Pass", "Output": "{% $exists($outer) %}"}
    state = distributed(Items=[1], ItemProcessor=program(Look=look))
    before = {"Type": "Pass", "Assign": {"outer": 1}}
    execution = await sfn.start(machine(Before=before, All=state))
    assert execution.output == [False]


def fragile(**fields: JsonValue) -> dict[str, Any]:
    """A map whose children fail for odd items while `down` is set."""
    return distributed(ItemProcessor=program(Work=task()), **fields)


def odd_fails(sfn: StepFunctions, down: list[str]) -> None:
    def work(item: int) -> int:
        if down and item % 2:
            raise ConnectionError("down")
        return item

    sfn.function("work", work)


async def test_so_many_failures_are_tolerated_and_no_more(sfn: StepFunctions) -> None:
    odd_fails(sfn, ["down"])
    count = fragile(Items=[0, 1, 2, 3], ToleratedFailureCount="{% 1 + 1 %}")
    assert await output(sfn, count) == [0, 2]
    share = fragile(Items=[0, 1, 2, 3], ToleratedFailurePercentage=50)
    assert await output(sfn, share) == [0, 2]
    strict = fragile(Items=[0, 1, 2, 3], ToleratedFailurePercentage=49)
    execution = await sfn.start(machine(All=strict))
    assert execution.error == "States.ExceedToleratedFailureThreshold"
    assert execution.types[-3:] == ["MapRunFailed", "MapStateFailed", "ExecutionFailed"]


async def test_results_are_written_with_a_manifest(sfn: StepFunctions) -> None:
    odd_fails(sfn, ["down"])
    writer = {
        "Resource": "arn:aws:states:::s3:putObject",
        "Arguments": {"Bucket": "data", "Prefix": "results"},
    }
    state = fragile(Items=[0, 1], ToleratedFailureCount=1, ResultWriter=writer)
    details = (await output(sfn, state))["ResultWriterDetails"]
    body = client("s3").get_object(Bucket="data", Key=details["Key"])["Body"].read()
    files = json.loads(body)["ResultFiles"]
    assert [len(files[group]) for group in ("SUCCEEDED", "FAILED", "PENDING")] == [1, 1, 0]


def written(key: str) -> str:
    body: bytes = client("s3").get_object(Bucket="data", Key=key)["Body"].read()
    return body.decode()


async def test_results_are_written_though_too_many_failed(sfn: StepFunctions) -> None:
    odd_fails(sfn, ["down"])
    arguments = {"Bucket": "data", "Prefix": "results/"}
    writer = {"Resource": "arn:aws:states:::s3:putObject", "Arguments": arguments}
    state = fragile(Items=[0, 1], MaxConcurrency=1, ResultWriter=writer)
    execution = await sfn.start(machine(All=state))
    assert execution.error == "States.ExceedToleratedFailureThreshold"
    keys = [entry["Key"] for entry in client("s3").list_objects_v2(Bucket="data")["Contents"]]
    names = sorted(key.rsplit("/", 1)[1] for key in keys)
    assert names == ["FAILED_0.json", "SUCCEEDED_0.json", "manifest.json"]
    failed = json.loads(written(next(key for key in keys if "FAILED" in key)))
    assert (failed[0]["Error"], failed[0]["Input"]) == ("ConnectionError", "1")


@pytest.mark.parametrize(
    ("transformation", "expected"),
    [("COMPACT", "[0,1]\n[1,2]"), ("FLATTEN", "0\n1\n1\n2")],
)
async def test_results_are_written_as_the_writer_is_told(
    sfn: StepFunctions, transformation: str, expected: str
) -> None:
    each = program(Each={"Type": "Pass", "Output": "{% [$states.input, $states.input + 1] %}"})
    config = {"OutputType": "JSONL", "Transformation": transformation}
    arguments = {"Bucket": "data", "Prefix": "{% 'a' & 'b' %}"}
    writer = {"Resource": "arn:aws:states:::s3:putObject", "Arguments": arguments}
    state = distributed(
        Items=[0, 1], ItemProcessor=each, ResultWriter={**writer, "WriterConfig": config}
    )
    details = (await output(sfn, state))["ResultWriterDetails"]
    assert details["Key"].startswith("ab/")
    manifest = json.loads(written(details["Key"]))
    assert written(manifest["ResultFiles"]["SUCCEEDED"][0]["Key"]) == expected
    counts = await respond(
        sfn.engine, "DescribeMapRun", dumps({"mapRunArn": manifest["MapRunArn"]}).encode()
    )
    assert counts[1]["executionCounts"]["resultsWritten"] == 2


async def test_a_bucket_that_cannot_be_written_fails_the_map_by_awss_name(
    sfn: StepFunctions,
) -> None:
    for arguments in ({"Bucket": "none"}, {}):
        writer = {"Resource": "arn:aws:states:::s3:putObject", "Arguments": arguments}
        execution = await sfn.start(machine(All=distributed(Items=[1], ResultWriter=writer)))
        assert execution.error == "States.ResultWriterFailed"


async def test_a_redrive_runs_only_the_children_that_failed(sfn: StepFunctions) -> None:
    down = ["down"]
    odd_fails(sfn, down)
    state = fragile(Items=[0, 1, 2], MaxConcurrency=1)
    execution = await sfn.start(machine(All=state))
    assert execution.status == "FAILED"
    calls = len(sfn.functions.calls)
    down.clear()
    sfn.engine.redrive_execution(execution.arn)
    await sfn.settle()
    assert execution.output == [0, 1, 2]
    assert [item for _, item in sfn.functions.calls[calls:]] == [1, 2]
    assert "MapRunRedriven" in execution.types
    counts = await described(sfn, execution)
    assert (counts["redriveCount"], counts["executionCounts"]["succeeded"]) == (1, 3)


async def described(sfn: StepFunctions, execution: Execution) -> dict[str, Any]:
    async def call(operation: str, **params: str) -> dict[str, Any]:
        status, answer = await respond(sfn.engine, operation, json.dumps(params).encode())
        assert status == 200, answer
        return answer

    runs = (await call("ListMapRuns", executionArn=execution.arn))["mapRuns"]
    children = await call("ListExecutions", mapRunArn=runs[0]["mapRunArn"])
    assert len(children["executions"]) == 3
    return await call("DescribeMapRun", mapRunArn=runs[0]["mapRunArn"])


async def test_stopping_the_parent_stops_the_children(sfn: StepFunctions) -> None:
    state = distributed(Items=[1, 2], ItemProcessor=program(W={"Type": "Wait", "Seconds": 99}))
    execution = await sfn.start(machine(All=state))
    sfn.engine.stop_execution(execution.arn)
    await sfn.settle()
    run = next(iter(sfn.engine.map_runs))
    shapes = sfn.engine.map_run_executions(run.arn)
    assert (run.status, [shape["status"] for shape in shapes]) == ("ABORTED", ["ABORTED"] * 2)
