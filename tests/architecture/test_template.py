"""The template gives each machine and function what it uses, and nothing more."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

from architecture.project import PLACEHOLDER, Json, Project, expressions, hold, pascal, strings
from autoops.adapters.admissions import OPEN_INDEX
from autoops.config import Settings

SET_BY_LAMBDA: Final = frozenset({"AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION"})
READERS_OF_ENVIRONMENT: Final = "functions/autoops/config.py"
LAYERS: Final[Mapping[str, tuple[str, ...]]] = {
    "CallModelFunction": ("BedrockLayer",),
    "ParseDocumentsFunction": ("DocumentsLayer",),
}
"""Layers beside the runtime's: heavy packages go only where they are used."""

GRANTS: Final[Mapping[str, str]] = {
    "bedrock:InvokeModel": r"autoops\.adapters\.bedrock\b",
    "bedrock:CountTokens": r"autoops\.adapters\.counting\b",
    "GatePolicy": r"autoops\.adapters\.gate\b",
    "VectorPolicy": r"autoops\.adapters\.s3vectors\b",
    "EventPolicy": r"autoops\.adapters\.events\b",
    "DocumentsPolicy": r"autoops\.adapters\.s3 import .*\bdocuments\b",
}
"""What a function may do, by what its handler imports to do it."""


def unequal_substitutions(project: Project) -> Iterator[str]:
    for name, properties in project.workflows.items():
        workflow = _workflow_of(properties)
        used = {
            found
            for text in strings(project.machines.get(workflow, {}))
            for found in PLACEHOLDER.findall(text)
        }
        given = properties.get("DefinitionSubstitutions", {}).keys()
        yield from (
            f"{name}: {workflow} uses ${{{one}}}, not given" for one in sorted(used - given)
        )
        yield from (f"{name}: gives {one}, which {workflow} lacks" for one in sorted(given - used))


def unpinned_substitutions(project: Project) -> Iterator[str]:
    """A running execution keeps its code: machines hold versions of functions and children."""
    for name, properties in project.workflows.items():
        for placeholder, value in properties.get("DefinitionSubstitutions", {}).items():
            target = placeholder.removesuffix("Arn")
            wanted = f"{target}.Version" if target.endswith("Function") else f"{target}Version"
            if placeholder.endswith(("FunctionArn", "WorkflowArn")) and value != {"Ref": wanted}:
                yield f"{name}: {placeholder} has to be !Ref {wanted}"


def unequal_permissions(project: Project) -> Iterator[str]:
    for name, properties in project.workflows.items():
        given = properties.get("DefinitionSubstitutions", {})
        for action, kind in (("lambda:InvokeFunction", "Function"), (START, "Workflow")):
            used = {one.removesuffix("Arn") for one in given if one.endswith(f"{kind}Arn")}
            if action == START and _runs_items_apart(project, properties):
                used.add(f"{_workflow_of(properties)}/items")
            allowed = _allowed(properties, action)
            yield from (f"{name}: lacks {action} on {one}" for one in sorted(used - allowed))
            yield from (f"{name}: has {action} on {one}, unused" for one in sorted(allowed - used))


def unequal_grants(project: Project, sources: Mapping[str, str]) -> Iterator[str]:
    for name, properties in project.functions.items():
        policies = list(strings(properties.get("Policies", [])))
        for grant, pattern in GRANTS.items():
            needs = re.search(pattern, sources[name]) is not None
            has = any(grant == text.removeprefix("Outputs.") for text in policies)
            if needs != has:
                yield f"{name}: {'needs' if needs else 'does not need'} {grant}"


def wrong_layers(project: Project) -> Iterator[str]:
    for name, properties in project.functions.items():
        wanted = [{"Ref": layer} for layer in ("RuntimeLayer", *LAYERS.get(name, ()))]
        if properties["Layers"] != wanted:
            yield f"{name}: its layers have to be {', '.join(layer['Ref'] for layer in wanted)}"


def undeclared_variables(project: Project, read: set[str]) -> Iterator[str]:
    declared = project.template["Globals"]["Function"]["Environment"]["Variables"].keys()
    yield from (f"{name} is read, and the template lacks it" for name in sorted(read - declared))
    yield from (f"{name} is declared, and nothing reads it" for name in sorted(declared - read))


def stray_readers(files: Mapping[str, str]) -> Iterator[str]:
    for name, source in files.items():
        for node in ast.walk(ast.parse(source)):
            reads = isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}
            if reads and name != READERS_OF_ENVIRONMENT:
                yield f"{name}: reads the environment; that is for {READERS_OF_ENVIRONMENT}"


def unwatched_workflows(project: Project) -> Iterator[str]:
    """A run whose end nobody sees stays open in the ledger."""
    watched = set(strings(project.functions["CloseRunFunction"].get("Events", {})))
    roots = {name for name in project.workflows if _opens_runs(project, name)}
    for name in sorted(roots - watched):
        yield f"CloseRunFunction: its rule has to name {name}"


START: Final = "states:StartExecution"


def _workflow_of(properties: Json) -> str:
    return Path(properties["DefinitionUri"]).name.removesuffix(".asl.json")


def _runs_items_apart(project: Project, properties: Json) -> bool:
    """The items of a Distributed Map are executions that the machine starts of itself."""
    return "DISTRIBUTED" in strings(project.machines[_workflow_of(properties)])


def _opens_runs(project: Project, name: str) -> bool:
    return "OpenRunFunctionArn" in project.workflows[name].get("DefinitionSubstitutions", {})


def _allowed(properties: Json, action: str) -> set[str]:
    statements = [one for policy in properties["Policies"] for one in policy.get("Statement", [])]
    resources = [one["Resource"] for one in statements if action in ([*_listed(one["Action"])])]
    own = f"stateMachine:${{AWS::StackName}}-{_workflow_of(properties)}"
    texts = [text for text in strings(resources) if ":execution:" not in text]
    items = {f"{_workflow_of(properties)}/items" for text in texts if text.endswith(own)}
    found = (
        re.search(r"(?:\$\{)?(\w+?)(?:\.Arn)?(?:\}:\*)?$", text)
        for text in texts
        if not text.endswith(own)
    )
    return items | {match[1] for match in found if match}


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _handler_sources(project: Project) -> dict[str, str]:
    return {
        name: _handler_path(project, properties["Handler"]).read_text()
        for name, properties in project.functions.items()
    }


def _handler_path(project: Project, handler: str) -> Path:
    return project.root.joinpath("functions", *handler.split(".")[:-1]).with_suffix(".py")


def _sources(project: Project) -> dict[str, str]:
    return {
        str(path.relative_to(project.root)): path.read_text()
        for path in (project.root / "functions").rglob("*.py")
    }


def test_placeholders_equal_substitutions(project: Project) -> None:
    hold(unequal_substitutions(project))


def test_a_missing_or_spare_substitution_is_named(project: Project) -> None:
    def rename(template: Json) -> None:
        given = template["Resources"]["AskModelWorkflow"]["Properties"]["DefinitionSubstitutions"]
        given["AdmitArn"] = given.pop("AdmitFunctionArn")

    assert list(unequal_substitutions(project.with_template(rename))) == [
        "AskModelWorkflow: ask-model uses ${AdmitFunctionArn}, not given",
        "AskModelWorkflow: gives AdmitArn, which ask-model lacks",
    ]


def test_machines_hold_versions(project: Project) -> None:
    hold(unpinned_substitutions(project))


def test_a_function_without_version_is_named(project: Project) -> None:
    def unpin(template: Json) -> None:
        given = template["Resources"]["AskModelWorkflow"]["Properties"]["DefinitionSubstitutions"]
        given["AdmitFunctionArn"] = {"Fn::GetAtt": ["AdmitFunction", "Arn"]}

    assert list(unpinned_substitutions(project.with_template(unpin))) == [
        "AskModelWorkflow: AdmitFunctionArn has to be !Ref AdmitFunction.Version"
    ]


def test_invoke_permissions_equal_functions_used(project: Project) -> None:
    hold(unequal_permissions(project))


def test_a_missing_or_spare_permission_is_named(project: Project) -> None:
    def swap(template: Json) -> None:
        policies = template["Resources"]["AskModelWorkflow"]["Properties"]["Policies"]
        policies[1]["Statement"][0]["Resource"][0] = {"Fn::Sub": "${OpenRunFunction.Arn}:*"}

    assert list(unequal_permissions(project.with_template(swap))) == [
        "AskModelWorkflow: lacks lambda:InvokeFunction on AdmitFunction",
        "AskModelWorkflow: has lambda:InvokeFunction on OpenRunFunction, unused",
    ]


def test_functions_may_do_what_their_adapters_do(project: Project) -> None:
    hold(unequal_grants(project, _handler_sources(project)))


def test_a_function_that_may_call_bedrock_without_need_is_named(project: Project) -> None:
    sources = _handler_sources(project) | {"EmbedChunksFunction": "", "OpenRunFunction": BEDROCK}
    assert set(unequal_grants(project, sources)) == {
        "EmbedChunksFunction: does not need GatePolicy",
        "EmbedChunksFunction: does not need bedrock:InvokeModel",
        "OpenRunFunction: needs bedrock:InvokeModel",
    }


BEDROCK: Final = "from autoops.adapters.bedrock import chat_model"


def test_who_passes_the_gate_without_leave_is_named(project: Project) -> None:
    def forbid(template: Json) -> None:
        template["Resources"]["SweepFunction"]["Properties"]["Policies"].pop(1)

    altered = project.with_template(forbid)
    assert list(unequal_grants(altered, _handler_sources(altered))) == [
        "SweepFunction: needs GatePolicy"
    ]


def test_the_gate_may_do_what_its_adapters_do(project: Project) -> None:
    document = project.stacks["Storage"]["Resources"]["GatePolicyDocument"]
    allowed = set(strings(document))
    assert allowed >= {
        "states:SendTaskSuccess",
        "states:SendTaskFailure",
        "states:DescribeExecution",
        "events:PutEvents",
    }


def test_the_index_that_the_gate_reads_is_declared(project: Project) -> None:
    ledger = project.stacks["Storage"]["Resources"]["Ledger"]["Properties"]
    (index,) = ledger["GlobalSecondaryIndexes"]
    assert index["IndexName"] == OPEN_INDEX
    assert [key["AttributeName"] for key in index["KeySchema"]] == ["open_in", "open_since"]
    step = set(strings(project.stacks["Storage"]["Resources"]["StepPolicyDocument"]))
    assert any("/index/" in text for text in step), "its functions may not query it"


def test_heavy_layers_are_only_where_they_are_used(project: Project) -> None:
    hold(wrong_layers(project))
    assert LAYERS.keys() <= project.functions.keys(), "a layer for a function that is gone"


def test_a_heavy_layer_too_many_is_named(project: Project) -> None:
    altered = project.with_template(
        lambda t: t["Resources"]["AdmitFunction"]["Properties"].update(
            Layers=[{"Ref": "BedrockLayer"}]
        )
    )
    assert list(wrong_layers(altered)) == ["AdmitFunction: its layers have to be RuntimeLayer"]


def test_every_variable_that_is_read_is_declared(project: Project) -> None:
    read = {one.name.upper() for one in fields(Settings)}
    hold(undeclared_variables(project, read))
    names = re.findall(r'os\.environ\.get\("(\w+)"', _sources(project)[READERS_OF_ENVIRONMENT])
    assert set(names) <= SET_BY_LAMBDA, "read outside Settings; make it a field"


def test_an_undeclared_variable_is_named(project: Project) -> None:
    read = {one.name.upper() for one in fields(Settings)} - {"EVENT_BUS"} | {"MAIL_FROM"}
    assert list(undeclared_variables(project, read)) == [
        "MAIL_FROM is read, and the template lacks it",
        "EVENT_BUS is declared, and nothing reads it",
    ]


def test_the_environment_is_read_in_one_place(project: Project) -> None:
    hold(stray_readers(_sources(project)))


def test_another_reader_of_the_environment_is_named() -> None:
    assert list(stray_readers({"functions/steps/x/step.py": "import os\nos.environ['A']"})) == [
        "functions/steps/x/step.py: reads the environment; that is for functions/autoops/config.py"
    ]


def test_the_end_of_every_run_is_watched(project: Project) -> None:
    hold(unwatched_workflows(project))


def test_a_workflow_whose_end_nobody_sees_is_named(project: Project) -> None:
    def blind(template: Json) -> None:
        detail = template["Resources"]["CloseRunFunction"]["Properties"]["Events"]["RunEnded"]
        detail["Properties"]["Pattern"]["detail"]["stateMachineArn"].pop(0)

    assert list(unwatched_workflows(project.with_template(blind))) == [
        "CloseRunFunction: its rule has to name AnswerQuestionWorkflow"
    ]


def test_no_expression_hides_in_the_template(project: Project) -> None:
    hold(expressions(project.template))


def test_workflow_names_carry_the_prefix_that_close_run_takes_off(project: Project) -> None:
    for properties in project.workflows.values():
        name = properties["Name"]["Fn::Sub"]
        assert name == f"${{AWS::StackName}}-{_workflow_of(properties)}"
        assert pascal(_workflow_of(properties)) + "Workflow" in project.workflows
