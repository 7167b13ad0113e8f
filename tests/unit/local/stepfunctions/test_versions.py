"""Versions, aliases and tags through the API."""

import json
from typing import Any

import pytest

from local.stepfunctions.api.app import respond
from local.stepfunctions.testing import StepFunctions
from unit.local.stepfunctions.asl import machine


async def call(sfn: StepFunctions, operation: str, **params: object) -> dict[str, Any]:
    _, answer = await respond(sfn.engine, operation, json.dumps(params).encode())
    return answer


def answering(word: str) -> dict[str, Any]:
    return machine(Only={"Type": "Pass", "Output": word})


@pytest.fixture
async def arn(sfn: StepFunctions) -> str:
    """A machine with two versions: 1 answers "old", 2 answers "new"."""
    made = sfn.create(answering("old"), "ask-model")
    await call(sfn, "PublishStateMachineVersion", stateMachineArn=made, description="first")
    definition = json.dumps(answering("new"))
    await call(sfn, "UpdateStateMachine", stateMachineArn=made, definition=definition, publish=True)
    return made


def routes(*entries: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"stateMachineVersionArn": arn, "weight": weight} for arn, weight in entries]


async def live(sfn: StepFunctions, *entries: tuple[str, int]) -> dict[str, Any]:
    return await call(
        sfn, "CreateStateMachineAlias", name="live", routingConfiguration=routes(*entries)
    )


async def test_versions_are_listed_newest_first_and_a_revision_is_published_once(
    sfn: StepFunctions, arn: str
) -> None:
    listed = await call(sfn, "ListStateMachineVersions", stateMachineArn=arn)
    numbers = [
        entry["stateMachineVersionArn"].rsplit(":", 1)[1]
        for entry in listed["stateMachineVersions"]
    ]
    assert numbers == ["2", "1"]
    again = await call(sfn, "PublishStateMachineVersion", stateMachineArn=arn)
    assert again["stateMachineVersionArn"] == f"{arn}:2"
    stale = await call(sfn, "PublishStateMachineVersion", stateMachineArn=arn, revisionId="other")
    assert stale["__type"] == "ConflictException"


async def test_a_version_is_described_with_its_own_definition(sfn: StepFunctions, arn: str) -> None:
    described = await call(sfn, "DescribeStateMachine", stateMachineArn=f"{arn}:1")
    assert json.loads(described["definition"]) == answering("old")
    assert described["description"] == "first"
    execution = await sfn.start(f"{arn}:1")
    run = await call(sfn, "DescribeStateMachineForExecution", executionArn=execution.arn)
    assert json.loads(run["definition"]) == answering("old")


async def test_an_alias_is_made_moved_listed_and_deleted(sfn: StepFunctions, arn: str) -> None:
    made = await live(sfn, (f"{arn}:1", 100))
    alias = made["stateMachineAliasArn"]
    assert (await sfn.start(alias)).output == "old"
    both = routes((f"{arn}:1", 40), (f"{arn}:2", 60))
    params = {"stateMachineAliasArn": alias}
    await call(sfn, "UpdateStateMachineAlias", **params, routingConfiguration=both)
    assert (await call(sfn, "DescribeStateMachineAlias", **params))["routingConfiguration"] == both
    for of, found in ((arn, 1), (f"{arn}:2", 1)):
        listed = await call(sfn, "ListStateMachineAliases", stateMachineArn=of)
        assert len(listed["stateMachineAliases"]) == found
    used = await call(sfn, "DeleteStateMachineVersion", stateMachineVersionArn=f"{arn}:2")
    assert used["__type"] == "ConflictException"
    assert await call(sfn, "DeleteStateMachineAlias", **params) == {}
    assert await call(sfn, "DeleteStateMachineVersion", stateMachineVersionArn=f"{arn}:2") == {}
    gone = await call(sfn, "StartExecution", stateMachineArn=alias)
    assert gone["__type"] == "StateMachineDoesNotExist"


async def test_weights_must_make_a_hundred_of_two_versions_of_one_machine(
    sfn: StepFunctions, arn: str
) -> None:
    other = sfn.create(answering("other"), "other")
    await call(sfn, "PublishStateMachineVersion", stateMachineArn=other)
    refused = [
        await live(sfn, (f"{arn}:1", 40), (f"{arn}:2", 50)),
        await live(sfn, (f"{arn}:1", 50), (f"{arn}:1", 50)),
        await live(sfn, (f"{arn}:1", 50), (f"{other}:1", 50)),
        await live(sfn, (arn, 100)),
        await live(sfn, (f"{arn}:1", 120)),
    ]
    assert {answer["__type"] for answer in refused} == {"ValidationException"}


async def test_the_same_alias_again_is_the_same_and_another_is_a_conflict(
    sfn: StepFunctions, arn: str
) -> None:
    first = await live(sfn, (f"{arn}:1", 100))
    assert await live(sfn, (f"{arn}:1", 100)) == first
    assert (await live(sfn, (f"{arn}:2", 100)))["__type"] == "ConflictException"


async def test_executions_are_listed_by_version_and_by_alias(sfn: StepFunctions, arn: str) -> None:
    alias = (await live(sfn, (f"{arn}:2", 100)))["stateMachineAliasArn"]
    for started in (arn, f"{arn}:1", alias):
        await sfn.start(started)
    counts = []
    for asked in (arn, f"{arn}:1", f"{arn}:2", alias):
        listed = await call(sfn, "ListExecutions", stateMachineArn=asked)
        counts.append(len(listed["executions"]))
    assert counts == [3, 1, 1, 1]


async def test_a_machine_carries_tags(sfn: StepFunctions, arn: str) -> None:
    tags = [{"key": "team", "value": "a"}, {"key": "cost", "value": "b"}]
    await call(sfn, "TagResource", resourceArn=arn, tags=tags)
    await call(sfn, "UntagResource", resourceArn=arn, tagKeys=["cost"])
    listed = await call(sfn, "ListTagsForResource", resourceArn=arn)
    assert listed["tags"] == tags[:1]


async def test_a_deleted_machine_can_be_started_no_more(sfn: StepFunctions, arn: str) -> None:
    assert await call(sfn, "DeleteStateMachine", stateMachineArn=arn) == {}
    started = await call(sfn, "StartExecution", stateMachineArn=arn)
    assert started["__type"] == "StateMachineDoesNotExist"
    assert (await call(sfn, "ListStateMachines"))["stateMachines"] == []
