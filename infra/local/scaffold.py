"""Writes a new step or workflow into every place that it needs, or into none.

python -m local.scaffold step grade_answer
python -m local.scaffold workflow grade-answers
"""

import json
import keyword
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from local.graph import machines_in, pictures

ROOT: Final = Path(__file__).parents[2]
LONGEST: Final = 40
"""A function's name in AWS also holds the stack's name and a suffix, 64 characters in all."""

Files = dict[Path, str]


class ScaffoldError(Exception):
    """What is asked for cannot be written; the message is one sentence."""


def step_files(name: str, root: Path = ROOT) -> Files:
    """Texts of the files of a new step, by path; the template is among them.

    Raises:
        ScaffoldError: the name is bad or taken.
    """
    _check_name(name, "_", "step", "grade_answer")
    for kind in ("steps", "triggers"):
        if (root / "functions" / kind / name).exists():
            raise ScaffoldError(f"{name}: functions/{kind}/{name} exists; choose another name")
    words = {"name": name, "title": _pascal(name), "text": _sentence(name)}
    folder = root / "functions" / "steps" / name
    return {
        folder / "__init__.py": "",
        folder / "step.py": STEP.format(**words),
        folder / "handler.py": HANDLER.format(**words),
        root / "tests" / "events" / name / "ok.json": EVENT % words,
        root / "tests" / "unit" / "steps" / f"test_{name}.py": STEP_TEST.format(**words),
        root / "template.yaml": _before(
            root / "template.yaml", "  # Triggers\n", FUNCTION.format(**words)
        ),
    }


def workflow_files(name: str, root: Path = ROOT) -> Files:
    """Texts of the files of a new workflow, by path; the template is among them.

    Raises:
        ScaffoldError: the name is bad or taken.
    """
    _check_name(name, "-", "workflow", "grade-answers")
    definition = root / "statemachines" / f"{name}.asl.json"
    if definition.exists():
        raise ScaffoldError(f"{name}: statemachines/{name}.asl.json exists; choose another name")
    words = {"name": name, "title": _pascal(name), "text": _sentence(name)}
    template = _before(root / "template.yaml", "Outputs:\n", WORKFLOW.format(**words))
    contracts = root / "functions" / "autoops" / "domain" / "workflows.py"
    asl = _definition(root, name)
    test = f"test_{name.replace('-', '_')}.py"
    return {
        definition: json.dumps(asl, indent=2, ensure_ascii=False) + "\n",
        root / "tests" / "workflows" / test: WORKFLOW_TEST.format(**words),
        root / "template.yaml": _watched(template, words["title"]),
        contracts: _with_contract(contracts.read_text(), name),
        root / "docs" / f"{name}.svg": _picture(root, name, asl),
    }


def write(files: Mapping[Path, str]) -> None:
    """Write the files; folders are made as needed."""
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(arguments: Sequence[str]) -> int:
    """Write what is asked for and say what to do next; the exit code."""
    kind, name = arguments
    try:
        files = step_files(name) if kind == "step" else workflow_files(name)
    except ScaffoldError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    write(files)
    for path in files:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    sys.stdout.write(f"{NEXT[kind].format(title=_pascal(name))}\n")
    return 0


def _check_name(name: str, joint: str, kind: str, example: str) -> None:
    word = "[a-z][a-z0-9]*"
    if not name:
        raise ScaffoldError(f"NAME: missing; write make {kind} NAME={example}")
    if not re.fullmatch(f"{word}(?:{joint}{word})*", name) or keyword.iskeyword(name):
        raise ScaffoldError(
            f"{name}: no name for a {kind}; write lower-case words"
            f" joined by {joint!r}, such as {example}"
        )
    if len(name) > LONGEST:
        raise ScaffoldError(f"{name}: has {len(name)} characters; write at most {LONGEST}")


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in re.split("[-_]", name))


def _sentence(name: str) -> str:
    return re.sub("[-_]", " ", name).capitalize()


def _before(path: Path, anchor: str, block: str) -> str:
    """The file with a block ahead of the line that starts its next part."""
    text = path.read_text()
    if text.count(f"\n{anchor}") != 1:
        raise ScaffoldError(f"{path.name}: no line {anchor.strip()!r} to write ahead of")
    return text.replace(f"\n{anchor}", f"\n{block}\n{anchor}")


def _watched(template: str, title: str) -> str:
    """The template whose `CloseRun` also hears of this workflow's runs."""
    found = re.search(r"\n( +)stateMachineArn:\n(?:\1 +- .*\n)*", template)
    if found is None:
        raise ScaffoldError("template.yaml: CloseRunFunction has no list stateMachineArn")
    line = f"{found[1]}  - !GetAtt {title}Workflow.Arn\n"
    return template[: found.end()] + line + template[found.end() :]


def _with_contract(source: str, name: str) -> str:
    found = re.search(r"\nWORKFLOWS: [^{]*\{\n(?: +.*\n)*", source)
    if found is None:
        raise ScaffoldError("autoops/domain/workflows.py: no WORKFLOWS to write into")
    return (
        f'{source[: found.end()]}    "{name}": Workflow(Start, budget="0.10"),\n'
        + (source[found.end() :])
    )


def _definition(root: Path, name: str) -> dict[str, object]:
    """A machine that opens its run and ends; `OpenRun` is as in the workflows that ship."""
    text = (root / "statemachines" / "answer-question.asl.json").read_text()
    opened = json.loads(text.replace("answer-question", name))["States"]["OpenRun"]
    opened |= {"Assign": {"run": "{% $states.result.Payload.run %}"}, "Next": "Done"}
    return {
        "Comment": f"{_sentence(name)}: say here what the workflow does",
        "QueryLanguage": "JSONata",
        "TimeoutSeconds": 3600,
        "StartAt": "OpenRun",
        "States": {
            "OpenRun": opened,
            "Done": {
                "Type": "Succeed",
                "Comment": "The run's output",
                "Output": {"run": "{% $run.root %}"},
            },
        },
    }


def _picture(root: Path, name: str, asl: dict[str, object]) -> str:
    return pictures({**machines_in(root / "statemachines"), name: asl})[f"{name}.svg"]


NEXT: Final[Mapping[str, str]] = {
    "step": "Write the step in step.py, then give a workflow the state {title}.",
    "workflow": "Start it with make up, and add states between OpenRun and Done.",
}

STEP: Final = '''"""{text}: say here in one sentence what the step does."""

from autoops.domain.contracts import Contract, Run
from autoops.domain.references import Private


class Input(Contract):
    """What the step takes; a private field stays out of histories and logs."""

    text: Private[str]


class Output(Contract):
    """What the step gives."""

    characters: int


def {name}(given: Input, run: Run) -> Output:  # noqa: ARG001  # every step gets the run
    """Count the characters; what it needs from outside, a step asks for as ports."""
    return Output(characters=len(given.text))
'''

HANDLER: Final = '''"""Lambda entry point of the step."""

from autoops.lambda_runtime import lambda_handler_for
from steps.{name}.step import Input, Output, {name}

handler = lambda_handler_for({name}, accepts=Input, returns=Output)
'''

EVENT: Final = """{
  "run": {
    "id": "r1",
    "root": "answer-question:r1",
    "workflow": "answer-question",
    "tenant": "default"
  },
  "step": "%(title)s",
  "attempt": 0,
  "input": {"text": "four"}
}
"""

STEP_TEST: Final = '''"""What {name} promises."""

from autoops.lambda_runtime import Envelope
from fakes import sample_event
from steps.{name}.step import Input, {name}


def test_characters_are_counted() -> None:
    event = Envelope.read(sample_event("{name}"))
    assert {name}(Input.read(event.input), event.run).characters == 4
'''

FUNCTION: Final = """  {title}Function:
    Type: AWS::Serverless::Function
    Metadata: {{BuildMethod: makefile}}
    Properties:
      Handler: steps.{name}.handler.handler
      Policies:
        - !GetAtt Storage.Outputs.StepPolicy
"""

WORKFLOW: Final = """  {title}Workflow:
    Type: AWS::Serverless::StateMachine
    Properties:
      Name: !Sub "${{AWS::StackName}}-{name}"
      DefinitionUri: statemachines/{name}.asl.json
      DefinitionSubstitutions:
        OpenRunFunctionArn: !Ref OpenRunFunction.Version
      AutoPublishAlias: live
      UseAliasAsEventTarget: true
      Tracing: {{Enabled: true}}
      Logging: *logging
      Policies:
        - !GetAtt Observability.Outputs.MachinePolicy
        - Statement:
            - Effect: Allow
              Action: lambda:InvokeFunction
              Resource:
                - !Sub "${{OpenRunFunction.Arn}}:*"
"""

WORKFLOW_TEST: Final = '''"""{text}, as a whole machine in virtual time."""

import json

from workflows.bench import Bench


async def test_a_run_is_opened_and_ends(bench: Bench) -> None:
    described = await bench.run("{name}", {{}})
    assert described["status"] == "SUCCEEDED", described
    assert json.loads(described["output"]) == {{"run": "{name}:r1"}}
'''


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
