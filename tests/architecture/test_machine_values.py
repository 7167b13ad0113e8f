"""What a machine hands to a step is what the step takes, and private values stay shut."""

from collections.abc import Iterator
from typing import Final

import jsonatapy

from architecture.project import Json, Project, expressions, hold, own_fields, step_module
from architecture.values import uses
from autoops.lambda_runtime import Envelope

ENVELOPE: Final = {
    "step": "{% $states.context.State.Name %}",
    "attempt": "{% $states.context.State.RetryCount %}",
}


def unreadable(project: Project) -> Iterator[str]:
    for state in project.states():
        for expression in expressions(own_fields(state.body)):
            if "\n" in expression:
                yield f"{state}: an expression runs over several lines"
            try:
                jsonatapy.compile(expression)
            except ValueError as error:
                yield f"{state}: {expression} is no JSONata: {error}"


def wrong_payloads(project: Project) -> Iterator[str]:
    for state in project.tasks():
        if not state.step:
            continue
        payload = state.body["Arguments"]["Payload"]
        yield from (f"{state}: the payload {problem}" for problem in _misfits(payload, Envelope))
        yield from (
            f"{state}: the payload's {name} has to be {value}"
            for name, value in ENVELOPE.items()
            if payload.get(name) != value
        )
        if state.scope and "map_index" not in payload:
            yield f"{state}: stands in a Map, so its payload has to tell map_index"
        takes = step_module(state.step).Input
        yield from (
            f"{state}: the input {problem}" for problem in _misfits(payload["input"], takes)
        )


def wrong_reads(project: Project) -> Iterator[str]:
    return (f"{use.state}: {use.problem}" for use in uses(project) if use.problem)


def opened_references(project: Project) -> Iterator[str]:
    """A reference is passed on whole, or asked whether it is there; anything else is a mistake."""
    for use in uses(project):
        whole = use.expression == use.path
        if use.kind.reference and not whole and f"$exists({use.path})" not in use.expression:
            yield f"{use.state}: computes with {use.path}, which travels by reference"


def _misfits(given: Json, model: type) -> Iterator[str]:
    fields = model.model_fields  # type: ignore[attr-defined]  # a pydantic model
    yield from (f"has {name}, which nothing takes" for name in given.keys() - fields.keys())
    required = {name for name, field in fields.items() if field.is_required()}
    yield from (f"lacks {name}" for name in sorted(required - given.keys()))


def test_expressions_parse_and_stay_on_one_line(project: Project) -> None:
    hold(unreadable(project))


def test_a_bad_expression_is_named(project: Project) -> None:
    def spoil(definition: Json) -> None:
        definition["States"]["Correct"]["Assign"] = {"correction": "{% $correction + %}"}
        definition["States"]["Begin"]["Assign"]["again"] = "{% 0\n + 1 %}"

    first, second = unreadable(project.with_machine("ask-model", spoil))
    assert first == "ask-model: Begin: an expression runs over several lines"
    assert second.startswith("ask-model: Correct: $correction + is no JSONata")


def test_payloads_fit_what_the_steps_take(project: Project) -> None:
    hold(wrong_payloads(project))


def test_a_payload_that_does_not_fit_is_named(project: Project) -> None:
    def spoil(definition: Json) -> None:
        payload = definition["States"]["CallModel"]["Arguments"]["Payload"]
        payload["step"] = "CallModel"
        payload["input"]["model"] = payload["input"].pop("first")

    assert list(wrong_payloads(project.with_machine("ask-model", spoil))) == [
        "ask-model: CallModel: the payload's step has to be {% $states.context.State.Name %}",
        "ask-model: CallModel: the input has model, which nothing takes",
        "ask-model: CallModel: the input lacks first",
    ]


def test_a_payload_inside_a_map_without_its_index_is_named(project: Project) -> None:
    def spoil(definition: Json) -> None:
        inner = definition["States"]["IngestBatches"]["ItemProcessor"]["States"]
        del inner["IndexChunks"]["Arguments"]["Payload"]["map_index"]

    assert list(wrong_payloads(project.with_machine("ingest-documents", spoil))) == [
        "ingest-documents: IngestBatches/IndexChunks: stands in a Map,"
        " so its payload has to tell map_index"
    ]


def test_machines_read_fields_that_exist_and_none_below_a_reference(project: Project) -> None:
    hold(wrong_reads(project))


def test_a_read_of_nothing_is_named(project: Project) -> None:
    def spoil(definition: Json) -> None:
        definition["States"]["CallModel"]["Assign"]["accepted"] = "{% $states.result.Payload.ok %}"
        definition["States"]["Answered"]["Output"]["call"] = "{% $path %}"

    assert list(wrong_reads(project.with_machine("ask-model", spoil))) == [
        "ask-model: CallModel: reads ok of $states.result.Payload, which has no such field",
        "ask-model: Answered: $path is assigned nowhere",
    ]


def test_a_look_below_a_private_field_is_named_through_variables_and_children(
    project: Project,
) -> None:
    def in_child(definition: Json) -> None:
        definition["States"]["Correct"]["Assign"]["model"] = "{% $first.model %}"

    def in_parent(definition: Json) -> None:
        definition["States"]["PostProcess"]["Assign"]["text"] = "{% $said.text %}"
        definition["States"]["OpenRun"]["Assign"]["words"] = (
            "{% $states.result.Payload.start.question.words %}"
        )

    altered = project.with_machine("ask-model", in_child).with_machine("answer-question", in_parent)
    assert set(wrong_reads(altered)) == {
        "ask-model: Correct: looks below $first, which travels by reference",
        "answer-question: PostProcess: looks below $said, which travels by reference",
        "answer-question: OpenRun: looks below $states.result.Payload.start.question,"
        " which travels by reference",
    }


def test_a_map_reads_fields_that_its_items_have(project: Project) -> None:
    def spoil(definition: Json) -> None:
        definition["States"]["IngestBatches"]["ItemSelector"]["documents"] = (
            "{% $states.context.Map.Item.Value.keys %}"
        )

    assert list(wrong_reads(project.with_machine("ingest-documents", spoil))) == [
        "ingest-documents: IngestBatches: reads keys of $states.context.Map.Item.Value,"
        " which has no such field"
    ]


def test_references_are_passed_on_whole(project: Project) -> None:
    hold(opened_references(project))


def test_a_computation_with_a_private_value_is_named(project: Project) -> None:
    def spoil(definition: Json) -> None:
        definition["States"]["Anything found?"]["Choices"][0]["Condition"] = (
            "{% $contains($question, 'x') %}"
        )

    assert list(opened_references(project.with_machine("answer-question", spoil))) == [
        "answer-question: Anything found?: computes with $question, which travels by reference"
    ]
