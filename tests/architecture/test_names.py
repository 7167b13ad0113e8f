"""One word for one thing: folder, handler, resource, placeholder, state, sample events, test."""

from collections.abc import Iterator
from pathlib import Path

from architecture.project import Project, hold, pascal, snake
from autoops.domain.workflows import WORKFLOWS


def broken_steps(project: Project) -> Iterator[str]:
    for kind, names in (("steps", project.steps()), ("triggers", project.triggers())):
        for name in names:
            yield from _broken_folder(project, kind, name)
            yield from _broken_resource(project, kind, name)


def stray_resources(project: Project) -> Iterator[str]:
    known = {f"{pascal(name)}Function" for name in [*project.steps(), *project.triggers()]}
    for name in project.functions.keys() - known:
        yield f"{name}: no folder functions/steps/{snake(name.removesuffix('Function'))}"
    for name in project.workflows.keys() - {f"{pascal(one)}Workflow" for one in project.machines}:
        yield f"{name}: no file in statemachines/"


def broken_workflows(project: Project) -> Iterator[str]:
    for name in project.machines:
        resource = project.workflows.get(f"{pascal(name)}Workflow")
        if resource is None:
            yield f"workflow {name}: template.yaml lacks {pascal(name)}Workflow"
        elif resource["DefinitionUri"] != f"statemachines/{name}.asl.json":
            yield f"workflow {name}: {pascal(name)}Workflow has another DefinitionUri"
        opens = any(state.step == "open_run" for state in project.states() if _in(name, state))
        if opens and name not in WORKFLOWS:
            yield f"workflow {name}: autoops/domain/workflows.py lacks its start contract"


def untested_steps(project: Project) -> Iterator[str]:
    for kind, names in (("steps", project.steps()), ("triggers", project.triggers())):
        for name in names:
            if not _exists(project, f"tests/unit/{kind}/test_{name}.py"):
                yield f"{kind[:-1]} {name}: lacks tests/unit/{kind}/test_{name}.py"
            if not list((project.root / "tests/events" / name).glob("*.json")):
                yield f"{kind[:-1]} {name}: lacks a sample event in tests/events/{name}/"


def untested_workflows(project: Project) -> Iterator[str]:
    for name in project.machines:
        test = f"tests/workflows/test_{name.replace('-', '_')}.py"
        if not _exists(project, test):
            yield f"workflow {name}: lacks {test}"


def _broken_folder(project: Project, kind: str, name: str) -> Iterator[str]:
    for part in ("step.py", "handler.py"):
        if not _exists(project, f"functions/{kind}/{name}/{part}"):
            yield f"{kind[:-1]} {name}: lacks functions/{kind}/{name}/{part}"
            return
    source = (project.root / f"functions/{kind}/{name}/step.py").read_text()
    if f"def {name}(" not in source:
        yield f"{kind[:-1]} {name}: its step.py lacks the function {name}"


def _broken_resource(project: Project, kind: str, name: str) -> Iterator[str]:
    resource = project.functions.get(f"{pascal(name)}Function")
    handler = f"{kind}.{name}.handler.handler"
    if resource is None:
        yield f"{kind[:-1]} {name}: template.yaml lacks {pascal(name)}Function"
    elif resource["Handler"] != handler:
        yield f"{kind[:-1]} {name}: {pascal(name)}Function has to have Handler {handler}"


def _exists(project: Project, path: str) -> bool:
    return Path(project.root, path).is_file()


def _in(workflow: str, state: object) -> bool:
    return getattr(state, "workflow", None) == workflow


def _skeleton(root: Path) -> Path:
    """A project folder with one step and nothing else."""
    step = root / "functions" / "steps" / "zip_words"
    step.mkdir(parents=True)
    (step / "__init__.py").touch()
    return root


def _bare(project: Project, root: Path) -> Project:
    machines = {"zip-words": project.machines["ask-model"]}
    return Project(project.template, {}, machines, _skeleton(root))


def test_the_chain_of_each_step_is_whole(project: Project) -> None:
    hold(broken_steps(project))


def test_each_missing_link_of_a_step_is_named(project: Project, tmp_path: Path) -> None:
    assert list(broken_steps(_bare(project, tmp_path))) == [
        "step zip_words: lacks functions/steps/zip_words/step.py",
        "step zip_words: template.yaml lacks ZipWordsFunction",
    ]


def test_a_step_under_another_name_is_named(project: Project, tmp_path: Path) -> None:
    bare = _bare(project, tmp_path)
    folder = tmp_path / "functions/steps/zip_words"
    (folder / "step.py").write_text("def zip_them(given): ...\n")
    (folder / "handler.py").touch()
    handler = {
        "Type": "AWS::Serverless::Function",
        "Properties": {"Handler": "steps.zip.handler"},
    }
    altered = bare.with_template(lambda t: t["Resources"].update(ZipWordsFunction=handler))
    assert list(broken_steps(altered))[:2] == [
        "step zip_words: its step.py lacks the function zip_words",
        "step zip_words: ZipWordsFunction has to have Handler steps.zip_words.handler.handler",
    ]


def test_no_resource_is_without_its_folder_or_file(project: Project) -> None:
    hold(stray_resources(project))


def test_a_stray_resource_is_named(project: Project, tmp_path: Path) -> None:
    found = set(stray_resources(_bare(project, tmp_path)))
    assert "AdmitFunction: no folder functions/steps/admit" in found
    assert "AskModelWorkflow: no file in statemachines/" in found


def test_the_chain_of_each_workflow_is_whole(project: Project) -> None:
    hold(broken_workflows(project))


def test_each_missing_link_of_a_workflow_is_named(project: Project, tmp_path: Path) -> None:
    machines = {"zip-words": project.machines["answer-question"]}
    altered = Project(project.template, {}, machines, tmp_path)
    assert list(broken_workflows(altered)) == [
        "workflow zip-words: template.yaml lacks ZipWordsWorkflow",
        "workflow zip-words: autoops/domain/workflows.py lacks its start contract",
    ]


def test_missing_tests_and_events_are_named(project: Project, tmp_path: Path) -> None:
    bare = _bare(project, tmp_path)
    assert list(untested_steps(bare)) == [
        "step zip_words: lacks tests/unit/steps/test_zip_words.py",
        "step zip_words: lacks a sample event in tests/events/zip_words/",
    ]
    assert list(untested_workflows(bare)) == [
        "workflow zip-words: lacks tests/workflows/test_zip_words.py"
    ]


def test_each_workflow_has_its_test(project: Project) -> None:
    hold(untested_workflows(project))


def test_each_step_has_its_sample_event_and_test(project: Project) -> None:
    hold(untested_steps(project))
