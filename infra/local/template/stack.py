"""One template file with its parameters: what the names in it stand for, and its nested stacks."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from local.constants import ACCOUNT, PARTITION, REGION
from local.template.errors import TemplateError, problem
from local.template.intrinsics import Resolver, as_text
from local.template.parameters import parameter_values
from local.template.references import KINDS, ON_LAMBDA, ON_MACHINE, Named, named
from local.template.yaml_text import Located, read_yaml

NESTED: Final = {
    "AWS::Serverless::Application": "Location",
    "AWS::CloudFormation::Stack": "TemplateURL",
}


class Stack:
    """A template and the values of its parameters.

    Args:
        path: the file.
        parameters: values by name; the others take their defaults.
        name: what AWS::StackName gives.

    Raises:
        TemplateError: the file or a parameter is not as it should be.
    """

    def __init__(self, path: Path, parameters: Mapping[str, object], name: str) -> None:
        self.path = path
        self.name = name
        self._content = read_yaml(path)
        self._parameters = parameter_values(path, self._section("Parameters"), parameters)
        self._pseudo: Mapping[str, object] = {
            "AWS::AccountId": ACCOUNT,
            "AWS::Region": REGION,
            "AWS::Partition": PARTITION,
            "AWS::StackName": name,
            "AWS::StackId": f"arn:{PARTITION}:cloudformation:{REGION}:{ACCOUNT}:stack/{name}/local",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NotificationARNs": [],
        }
        self._nested: dict[str, Stack] = {}
        self._opening: list[str] = []
        self.globals = self._section("Globals")

    def resources(self) -> Iterator[tuple[str, Located]]:
        """Every resource whose condition holds: logical id and body.

        Raises:
            TemplateError: a resource has no Type.
        """
        for logical_id, body in self._section("Resources").items():
            if not isinstance(body, Located) or not isinstance(body.get("Type"), str):
                raise problem(self.path, "A resource needs a Type.", resource=logical_id)
            if self._exists(body):
                yield logical_id, body

    def nested(self) -> Iterator["Stack"]:
        """The stacks inside this one."""
        for logical_id, body in self.resources():
            if body["Type"] in NESTED:
                yield self._open(logical_id, body)

    def resolver(self, resource: str) -> Resolver:
        """Replaces intrinsics in the resource of this stack."""
        return Resolver(self, resource)

    def named(self, logical_id: str, body: Located) -> Named:
        """Physical name and ARN of a resource of a type in KINDS."""
        properties = body.get("Properties") or {}

        def physical(name: str) -> str | None:
            value = self.resolver(logical_id).value(properties.get(name))
            return None if value is None else as_text(value)

        return named(body["Type"], logical_id, physical)

    def error(self, sentence: str, logical_id: str, body: Located) -> TemplateError:
        """An error at a resource of this stack."""
        return problem(self.path, sentence, line=body.line, resource=logical_id)

    def ref(self, name: str) -> object:
        """The value of Ref; raises LookupError."""
        if name in self._parameters:
            return self._parameters[name]
        if name in self._pseudo:
            return self._pseudo[name]
        published = self._published(name)
        if published is not None:
            return published
        body = self._body(name)
        kind = body["Type"]
        if kind in KINDS:
            return self.named(name, body).ref
        return self._ref_of_other(name, kind, body)

    def attribute(self, name: str, attribute: str) -> object:
        """The value of Fn::GetAtt; raises LookupError."""
        body = self._body(name)
        kind = body["Type"]
        if kind in NESTED:
            return self._output(name, body, attribute)
        if kind == "AWS::S3Vectors::Index" and attribute in {"IndexArn", "Arn"}:
            return self.ref(name)
        if kind == "AWS::Lambda::Version" and attribute == "Version":
            return "1"
        if kind in KINDS:
            value = self.named(name, body).attribute(attribute)
            if value is None:
                raise LookupError(f"The laptop knows no attribute {attribute} of {name} ({kind})")
            return value
        return f"{name}.{attribute}"

    def condition(self, name: str) -> bool:
        """The value of a condition; raises LookupError."""
        conditions = self._section("Conditions")
        if name not in conditions:
            raise LookupError(f"There is no condition {name}")
        return self.resolver(f"Conditions.{name}").value(conditions[name]) is True

    def mapping(self, name: str, first: str, second: str) -> object:
        """The value of Fn::FindInMap; raises LookupError."""
        try:
            return self._section("Mappings")[name][first][second]
        except (KeyError, TypeError):
            raise LookupError(f"Mappings have no {name} / {first} / {second}") from None

    def output(self, name: str) -> object:
        """The value of an output; raises LookupError."""
        outputs = self._section("Outputs")
        if name not in outputs:
            raise LookupError(f"{self.path} has no output {name}")
        return self.resolver(f"Outputs.{name}").value(outputs[name]["Value"])

    def outputs(self) -> dict[str, object]:
        """Every output whose condition holds."""
        return {
            name: self.output(name)
            for name, body in self._section("Outputs").items()
            if self._exists(body)
        }

    def _section(self, name: str) -> Located:
        section = self._content.get(name) or Located()
        if not isinstance(section, Located):
            raise problem(self.path, f"{name} has to be a mapping.")
        return section

    def _exists(self, body: Located) -> bool:
        return "Condition" not in body or self.condition(body["Condition"])

    def _body(self, name: str) -> Located:
        body: Located | None = self._section("Resources").get(name)
        if body is None:
            raise LookupError(f"There is no parameter or resource {name}")
        if not self._exists(body):
            raise LookupError(f"{name} does not exist under its condition")
        return body

    def _published(self, name: str) -> str | None:
        """What SAM makes of AutoPublishAlias: versions and aliases to refer to.

        Source: samtranslator 1.113: `Ref: XFunction.Version` and `.Alias` for functions only; a
        state machine's are resources of their own, XVersion and XAlias<alias>.
        """
        owner, _, tail = name.partition(".")
        if tail in {"Version", "Alias"}:
            return self._dotted(owner, tail)
        for logical_id, body in self._section("Resources").items():
            if not name.startswith(logical_id) or body.get("Type") not in ON_MACHINE + ON_LAMBDA:
                continue
            alias = self.alias(logical_id, body)
            arn = self.named(logical_id, body).arn
            if alias and name == f"{logical_id}Alias{alias}":
                return f"{arn}:{alias}"
            if alias and name == f"{logical_id}Version" and body["Type"] in ON_MACHINE:
                return f"{arn}:1"
        return None

    def _dotted(self, owner: str, tail: str) -> str:
        body = self._body(owner)
        alias = self.alias(owner, body)
        if body["Type"] == "AWS::Serverless::StateMachine":
            remedy = f"{owner}Version" if tail == "Version" else f"{owner}Alias{alias or '<alias>'}"
            raise LookupError(f"SAM has no {owner}.{tail} for a state machine; write !Ref {remedy}")
        if not alias:
            raise LookupError(f"{owner}.{tail} needs AutoPublishAlias on {owner}")
        return f"{self.named(owner, body).arn}:{'1' if tail == 'Version' else alias}"

    def alias(self, logical_id: str, body: Located) -> str:
        """AutoPublishAlias of a resource, from Globals where it has none itself; "" for none."""
        section = body["Type"].rpartition("::")[2]
        inherited = (self.globals.get(section) or {}).get("AutoPublishAlias")
        own = (body.get("Properties") or {}).get("AutoPublishAlias", inherited)
        return as_text(self.resolver(logical_id).value(own)) if own else ""

    def _ref_of_other(self, name: str, kind: str, body: Located) -> object:
        properties = self.resolver(name).value(body.get("Properties") or {})
        match kind:
            case "AWS::S3Vectors::Index":
                bucket = (
                    properties.get("VectorBucketName")
                    or str(properties["VectorBucketArn"]).rpartition("/")[2]
                )
                index = properties.get("IndexName", name.lower())
                return (
                    f"{KINDS['AWS::S3Vectors::VectorBucket'].arn.format(name=bucket)}/index/{index}"
                )
            case "AWS::Lambda::Version":
                return f"{_function_arn(properties['FunctionName'])}:1"
            case "AWS::Lambda::Alias":
                return f"{_function_arn(properties['FunctionName'])}:{properties['Name']}"
            case "AWS::StepFunctions::StateMachineVersion":
                return f"{properties['StateMachineArn']}:1"
            case _:
                return name

    def _output(self, name: str, body: Located, attribute: str) -> object:
        section, _, output = attribute.partition(".")
        if section != "Outputs" or not output:
            raise LookupError(f"A nested stack has {name}.Outputs.<name>, not {name}.{attribute}")
        return self._open(name, body).output(output)

    def _open(self, logical_id: str, body: Located) -> "Stack":
        if logical_id in self._nested:
            return self._nested[logical_id]
        if logical_id in self._opening:
            raise self.error("Its parameters depend on its own outputs.", logical_id, body)
        self._opening.append(logical_id)
        properties = body.get("Properties") or {}
        location = properties.get(NESTED[body["Type"]])
        if not isinstance(location, str) or "://" in location:
            raise self.error(
                f"{NESTED[body['Type']]} has to be the path of a template here.", logical_id, body
            )
        file = self.path.parent / location
        if not file.is_file():
            raise self.error(f"There is no template {file}.", logical_id, body)
        given = self.resolver(logical_id).value(properties.get("Parameters") or {})
        self._nested[logical_id] = Stack(file, given, f"{self.name}-{logical_id}")
        self._opening.pop()
        return self._nested[logical_id]


def _function_arn(reference: Any) -> str:
    text = as_text(reference)
    return text if ":" in text else KINDS["AWS::Lambda::Function"].arn.format(name=text)
