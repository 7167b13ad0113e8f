import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from local.template.errors import TemplateError
from local.template.template import Template

ACCOUNT = "us-east-1:123456789012"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes template.yaml (and other files) and returns its path."""

    def written(template: str, **files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / name.replace("__", ".")
            path.write_text(dedent(text))
        path = tmp_path / "template.yaml"
        path.write_text(dedent(template))
        return path

    return written


FUNCTION = """
Globals:
  Function:
    Timeout: 30
    Layers: [!Ref RuntimeLayer]
    AutoPublishAlias: live
    LoggingConfig: {LogFormat: JSON}
    Environment:
      Variables: {TABLE: !Ref Ledger, MODE: plain}
Resources:
  RuntimeLayer:
    Type: AWS::Serverless::LayerVersion
  BedrockLayer:
    Type: AWS::Serverless::LayerVersion
  Ledger:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: {AttributeName: expires, Enabled: true}
  CallModelFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions
      Handler: steps.call_model.handler.handler
      Timeout: 150
      ReservedConcurrentExecutions: 4
      EventInvokeConfig: {MaximumRetryAttempts: 1}
      Layers: [!Ref BedrockLayer]
      Policies: [!Ref Ledger]
      Environment:
        Variables: {MODE: fast, DEBUG: true, RETRIES: 3}
"""


def test_a_function_has_what_globals_and_its_own_properties_give(write: Write) -> None:
    function = Template.load(write(FUNCTION)).functions["CallModelFunction"]
    assert (function.name, function.timeout, function.memory) == ("CallModelFunction", 150, 128)
    assert function.environment == {
        "TABLE": "Ledger",
        "MODE": "fast",
        "DEBUG": "true",
        "RETRIES": "3",
    }
    assert [layer.split(":")[-2] for layer in function.layers] == ["RuntimeLayer", "BedrockLayer"]
    assert (function.alias, function.concurrency, function.log_format) == ("live", 4, "JSON")
    assert function.event_retries == 1
    assert function.code.name == "functions"


def test_a_table_is_ready_to_be_created(write: Write) -> None:
    table = Template.load(write(FUNCTION)).tables["Ledger"]
    assert table.create == {
        "TableName": "Ledger",
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    }
    assert table.ttl_attribute == "expires"


def test_sams_simple_table_has_one_key(write: Write) -> None:
    template = write(
        """
        Resources:
          Seen:
            Type: AWS::Serverless::SimpleTable
            Properties: {PrimaryKey: {Name: event, Type: Number}}
        """
    )
    create = Template.load(template).tables["Seen"].create
    assert create["AttributeDefinitions"] == [{"AttributeName": "event", "AttributeType": "N"}]
    assert create["KeySchema"] == [{"AttributeName": "event", "KeyType": "HASH"}]


MACHINES = """
Resources:
  WorkFunction:
    Type: AWS::Serverless::Function
    Properties: {Handler: a.b, AutoPublishAlias: live}
  ChildWorkflow:
    Type: AWS::Serverless::StateMachine
    Properties:
      AutoPublishAlias: live
      Definition: {StartAt: A, Fn: "${Other}"}
      DefinitionSubstitutions: {Other: !GetAtt WorkFunction.Arn}
  ParentWorkflow:
    Type: AWS::Serverless::StateMachine
    Properties:
      Name: !Sub "${AWS::StackName}-parent"
      DefinitionUri: parent.json
      Tracing: {Enabled: true}
      DefinitionSubstitutions:
        Version: !Ref WorkFunction.Version
        Alias: !Sub "${WorkFunction.Alias}"
        Child: !Ref ChildWorkflowVersion
        ChildAlias: !Ref ChildWorkflowAliaslive
        Plain: !Ref ChildWorkflow
        Seconds: 30
"""
PARENT = (
    '["${Version}", "${Alias}", "${Child}", "${ChildAlias}", "${Plain}", '
    "\"{% $number('${Seconds}') %}\"]"
)


def test_a_definition_has_its_placeholders_replaced_by_arns(write: Write) -> None:
    machine = Template.load(write(MACHINES, parent__json=PARENT)).machines["ParentWorkflow"]
    function = f"arn:aws:lambda:{ACCOUNT}:function:WorkFunction"
    child = f"arn:aws:states:{ACCOUNT}:stateMachine:ChildWorkflow"
    assert json.loads(machine.definition) == [
        f"{function}:1",
        f"{function}:live",
        f"{child}:1",
        f"{child}:live",
        child,
        "{% $number('30') %}",
    ]
    assert machine.arn == f"arn:aws:states:{ACCOUNT}:stateMachine:autoops-parent"
    assert machine.tracing
    assert machine.alias_arn == machine.arn


def test_an_inline_definition_is_its_json(write: Write) -> None:
    machine = Template.load(write(MACHINES, parent__json=PARENT)).machines["ChildWorkflow"]
    assert json.loads(machine.definition)["Fn"].endswith(":function:WorkFunction")
    assert (machine.version_arn, machine.alias_arn) == (f"{machine.arn}:1", f"{machine.arn}:live")


INTRINSICS = """
Parameters:
  Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}
  Size: {Type: Number, Default: 3}
  Subnets: {Type: CommaDelimitedList, Default: "a, b"}
Mappings:
  Sizes: {dev: {memory: 256}, prod: {memory: 1024}}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
  IsDev: !Not [!Condition IsProd]
  Both: !And [!Condition IsDev, !Equals [!Ref Size, 3]]
  Either: !Or [!Condition IsProd, !Condition Both]
Resources:
  OnlyProd:
    Type: AWS::S3::Bucket
    Condition: IsProd
  WorkFunction:
    Type: AWS::Serverless::Function
    Properties:
      Handler: a.b
      MemorySize: !FindInMap [Sizes, !Ref Stage, memory]
      Environment:
        Variables:
          JOINED: !Join ["-", [!Ref AWS::Region, !Ref Subnets, x]]
          CHOSEN: !If [Either, "yes", "no"]
          GONE: !If [IsProd, there, !Ref AWS::NoValue]
          PART: !Select [1, !Split ["/", "a/b/c"]]
          LITERAL: !Sub ["${!Keep} ${Own} ${Stage}", {Own: !Ref Size}]
          LONG: {"Fn::Sub": "${AWS::AccountId}"}
          JSON: !ToJsonString {a: !Ref Size}
"""


def test_intrinsics_give_what_cloudformation_gives(write: Write) -> None:
    template = Template.load(write(INTRINSICS))
    function = template.functions["WorkFunction"]
    assert function.memory == 256
    assert function.environment == {
        "JOINED": "us-east-1-a,b-x",
        "CHOSEN": "yes",
        "PART": "b",
        "LITERAL": "${Keep} 3 dev",
        "LONG": "123456789012",
        "JSON": '{"a": "3"}',
    }
    assert template.buckets == {}


def test_a_parameter_that_is_given_replaces_the_default(write: Write) -> None:
    template = Template.load(write(INTRINSICS), {"Stage": "prod"})
    assert template.functions["WorkFunction"].memory == 1024
    assert template.buckets["OnlyProd"].name == "onlyprod"


NESTED = """
Parameters:
  Length: {Type: Number, Default: 8}
Resources:
  Storage:
    Type: AWS::Serverless::Application
    Properties:
      Location: storage.yaml
      Parameters: {Length: !Ref Length}
  WorkFunction:
    Type: AWS::Serverless::Function
    Properties:
      Handler: a.b
      Environment:
        Variables: {BUCKET: !GetAtt Storage.Outputs.Bucket, BUS: !GetAtt Storage.Outputs.Bus}
"""
STORAGE = """
Parameters:
  Length: {Type: Number}
Resources:
  Artifacts:
    Type: AWS::S3::Bucket
    Properties: {VersioningConfiguration: {Status: Enabled}}
  Bus:
    Type: AWS::Events::EventBus
    Properties: {Name: !Ref AWS::StackName}
  Vectors:
    Type: AWS::S3Vectors::VectorBucket
  Chunks:
    Type: AWS::S3Vectors::Index
    Properties:
      VectorBucketArn: !GetAtt Vectors.VectorBucketArn
      IndexName: chunks
      DataType: float32
      Dimension: !Ref Length
      DistanceMetric: cosine
      MetadataConfiguration: {NonFilterableMetadataKeys: [text]}
Outputs:
  Bucket: {Value: !Ref Artifacts}
  Bus: {Value: !Ref Bus}
"""


def test_a_nested_stack_takes_parameters_and_gives_outputs(write: Write) -> None:
    template = Template.load(write(NESTED, storage__yaml=STORAGE))
    environment = template.functions["WorkFunction"].environment
    assert environment == {"BUCKET": "artifacts", "BUS": "autoops-Storage"}
    assert template.buckets["Artifacts"].versioned


def test_a_vector_index_is_ready_to_be_created(write: Write) -> None:
    template = Template.load(write(NESTED, storage__yaml=STORAGE))
    assert template.vector_indexes["Chunks"].create == {
        "vectorBucketName": "vectors",
        "indexName": "chunks",
        "dataType": "float32",
        "dimension": 8,
        "distanceMetric": "cosine",
        "metadataConfiguration": {"nonFilterableMetadataKeys": ["text"]},
    }
    assert template.vector_indexes["Chunks"].arn.endswith(":bucket/vectors/index/chunks")


EVENTS = """
Resources:
  CloseFunction:
    Type: AWS::Serverless::Function
    Properties:
      Handler: a.b
      AutoPublishAlias: live
      Events:
        Ended: {Type: EventBridgeRule, Properties: {Pattern: {source: [aws.states]}}}
        Hourly: {Type: Schedule, Properties: {Schedule: rate(1 hour), Enabled: false}}
        Nightly:
          Type: ScheduleV2
          Properties: {ScheduleExpression: cron(0 2 * * ? *), ScheduleExpressionTimezone: CET}
  Bus:
    Type: AWS::Events::EventBus
    Properties: {Name: orders}
  Own:
    Type: AWS::Events::Rule
    Properties:
      EventBusName: !Ref Bus
      EventPattern: {source: [shop]}
      Targets: [{Id: close, Arn: !Ref CloseFunction.Alias, Input: "{}"}]
"""


def test_events_and_rules_name_bus_pattern_and_target(write: Write) -> None:
    template = Template.load(write(EVENTS))
    target = f"arn:aws:lambda:{ACCOUNT}:function:CloseFunction:live"
    ended, hourly = (template.rules[f"CloseFunction{name}"] for name in ("Ended", "Hourly"))
    own = template.rules["Own"]
    assert (ended.bus, ended.pattern, ended.targets[0].arn) == (
        "default",
        {"source": ["aws.states"]},
        target,
    )
    assert (hourly.schedule, hourly.enabled) == ("rate(1 hour)", False)
    assert (own.bus, own.targets[0].arn, own.targets[0].properties["Input"]) == (
        "orders",
        target,
        "{}",
    )
    assert own.arn == f"arn:aws:events:{ACCOUNT}:rule/orders/Own"
    assert template.schedules["CloseFunctionNightly"].timezone == "CET"


def function_with(value: str) -> str:
    return (
        "Resources:\n"
        "  MyFunction:\n"
        "    Type: AWS::Serverless::Function\n"
        "    Properties:\n"
        "      Handler: a.b\n"
        f"      Environment: {{Variables: {{X: {value}}}}}\n"
    )


@pytest.mark.parametrize(
    ("template", "line", "sentence"),
    [
        (
            function_with("!ImportValue other"),
            6,
            "MyFunction: Fn::ImportValue needs another stack's exports",
        ),
        (function_with("!GetAZs x"), 6, "Fn::GetAZs is no intrinsic the laptop knows"),
        (function_with("!Ref Nobody"), 6, "There is no parameter or resource Nobody"),
        (function_with("!Select [7, [a]]"), 6, "Fn::Select has no item 7 among 1"),
        (function_with("!Join a"), 6, "Fn::Join is not used as CloudFormation has it"),
        (function_with("!Ref MyFunction.Version"), 6, "needs AutoPublishAlias on MyFunction"),
        (function_with("!GetAtt MyFunction.Colour"), 6, "knows no attribute Colour"),
        ("Resources:\n  A: {Type: X\n", 3, "no valid YAML"),
        ("Resources:\n  A: {Type: X}\n  A: {Type: Y}\n", 3, "the key 'A' stands here twice"),
        ("Resources:\n  A: {}\n", 0, "A: A resource needs a Type."),
        ("- a\n", 0, "A template is a mapping with Resources."),
        (
            "Parameters:\n  Size: {Type: Number, Default: big}\n",
            2,
            "Size: 'big' is no number.",
        ),
        (
            "Parameters:\n  Size: {Type: String}\n",
            2,
            "Size: The parameter has no default and is not given.",
        ),
        (
            "Resources:\n  W:\n    Type: AWS::Serverless::StateMachine\n"
            "    Properties: {DefinitionUri: w.json}\n",
            3,
            "W: There is no file",
        ),
        (
            "Resources:\n  W:\n    Type: AWS::Serverless::StateMachine\n"
            '    Properties: {Definition: {A: "${B}"}}\n',
            3,
            "W: DefinitionSubstitutions lack B, which Definition has.",
        ),
        (
            "Resources:\n  S:\n    Type: AWS::Serverless::Application\n"
            "    Properties: {Location: s.yaml}\n",
            3,
            "S: There is no template",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    write: Write, template: str, line: int, sentence: str
) -> None:
    path = write(template)
    with pytest.raises(TemplateError) as refused:
        Template.load(path)
    place = f"{path}:{line}: " if line else f"{path}: "
    assert str(refused.value).startswith(place)
    assert sentence in str(refused.value)


def test_a_reference_that_sam_does_not_have_is_refused_with_the_one_it_has(write: Write) -> None:
    template = MACHINES.replace("!Ref ChildWorkflowVersion", "!Ref ChildWorkflow.Version")
    with pytest.raises(TemplateError, match="write !Ref ChildWorkflowVersion"):
        Template.load(write(template, parent__json=PARENT))


def test_an_unknown_parameter_is_refused(write: Write) -> None:
    with pytest.raises(TemplateError, match="There is no parameter Colour"):
        Template.load(write(INTRINSICS), {"Colour": "red"})


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="There is no such file"):
        Template.load(tmp_path / "none.yaml")
