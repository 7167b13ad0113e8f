"""Bad input to the command line: one sentence, a non-zero exit, nothing started."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from local.cli import app


def _refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["run", *arguments], env={"COLUMNS": "400"})
    assert result.exit_code == 2, result.output
    sentences = result.stderr.strip().splitlines()
    assert len(sentences) == 1, sentences
    return sentences[0]


def test_an_empty_question_is_refused() -> None:
    assert "question: must not be empty" in _refused("--question", "  \n ")


def test_a_question_of_100_000_characters_is_refused_with_both_numbers() -> None:
    sentence = _refused("--question", "x" * 100_000)
    assert "100,000 characters" in sentence
    assert "at most 8,000" in sentence


@pytest.mark.parametrize("budget", ["0", "-1", "NaN", "lots", "Infinity", ""])
def test_a_budget_that_is_no_amount_above_zero_is_refused(budget: str) -> None:
    assert _refused("--budget", budget).startswith("budget: ")


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    sentence = _refused("--documents", str(tmp_path / "nowhere"), "--question", "Why?")
    assert "does not exist" in sentence


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    assert "holds no files" in _refused("--documents", str(tmp_path), "--question", "Why?")


def test_own_documents_need_a_question(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    assert "question: missing" in _refused("--documents", str(tmp_path))


def test_a_model_server_needs_url_and_name() -> None:
    assert "--model NAME" in _refused("--model-server", "http://127.0.0.1:1/v1")


def test_a_model_server_that_is_no_url_is_refused() -> None:
    assert "is no URL" in _refused("--model-server", "ollama", "--model", "llama3.2")
