"""Text from outside enters a prompt as a value, never as a template."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoops.domain.prompts import Prompt, read_prompt
from autoops.errors import InvalidInput

FRONT = "---\nname: summary\nversion: 3\nmax_tokens: 700\nanswer: CitedAnswer\n---\n"
ANSWER = Path(__file__).parents[3] / "functions/steps/retrieve_context/prompt.md"
BODY = "# system\nYou summarise.\n# question\nSummarise: {text}\n"


def prompt(tmp_path: Path, content: str = FRONT + BODY) -> Prompt:
    path = tmp_path / "prompt.md"
    path.write_text(content, "utf-8")
    return read_prompt(path)


def test_braces_in_a_value_reach_the_model_byte_for_byte(tmp_path: Path) -> None:
    said = 'Render {{name}} and {"root": {"a": 1}} and {0} and {text}'
    assert prompt(tmp_path).block("question", text=said) == f"Summarise: {said}"


@given(st.text(), st.text())
def test_no_value_changes_another(one: str, two: str) -> None:
    template = read_prompt(ANSWER)
    filled = template.block("passage", id="p1", title=one, place="line 1", text=two)
    assert filled == f"[p1] {one}, line 1\n{two}"


def test_a_prompt_says_its_version_and_its_answer(tmp_path: Path) -> None:
    read = prompt(tmp_path)
    assert (read.version.name, read.version.version) == ("summary", 3)
    assert (read.max_tokens, read.answer) == (700, "CitedAnswer")
    assert read.blocks["system"] == "You summarise."


def test_a_placeholder_without_a_value_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"prompt summary: no value for \{text\}"):
        prompt(tmp_path).block("question")


def test_a_block_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no block '# answer'"):
        prompt(tmp_path).block("answer")


def test_front_matter_without_a_key_names_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"prompt\.md: the front matter lacks max_tokens"):
        prompt(tmp_path, FRONT.replace("max_tokens: 700\n", "") + BODY)


def test_a_prompt_may_name_its_model(tmp_path: Path) -> None:
    named = FRONT.replace("answer: CitedAnswer\n", "answer: CitedAnswer\nmodel: a.b-v1:0\n")
    assert prompt(tmp_path, named + BODY).model == "a.b-v1:0"
    assert read_prompt(ANSWER).model is None


def test_a_prompt_may_ask_for_a_service_tier(tmp_path: Path) -> None:
    tiered = FRONT.replace("answer: CitedAnswer\n", "answer: CitedAnswer\ntier: flex\n")
    assert prompt(tmp_path, tiered + BODY).tier == "flex"
    assert read_prompt(ANSWER).tier == "default"


@pytest.mark.parametrize(
    ("front", "problem"),
    [
        (FRONT.replace("version: 3", "version: two"), "version has to be a whole number"),
        (FRONT.replace("max_tokens: 700", "max_tokens: 0"), "max_tokens has to be a whole number"),
        (FRONT.replace("answer:", "maximum: 7\nanswer:"), "unknown in front matter: maximum"),
        (FRONT.replace("answer:", "tier: best\nanswer:"), "tier has to be one of default, pri"),
        ("", "has to begin with front matter"),
        ("Hello\n" + FRONT, "has to begin with front matter"),
    ],
)
def test_front_matter_that_says_nothing_sensible_is_named(
    tmp_path: Path, front: str, problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        prompt(tmp_path, front + BODY)
