"""What is taken from the user's folder, and what is said of the rest."""

from pathlib import Path

import pytest

from local import corpus
from local.corpus import CorpusError, documents_at, language_reference


def test_a_folder_gives_its_files_by_path_without_the_hidden_ones(tmp_path: Path) -> None:
    (tmp_path / "sub" / ".git").mkdir(parents=True)
    (tmp_path / "sub" / "b.md").write_text("B")
    (tmp_path / "a.txt").write_text("A")
    (tmp_path / ".hidden").write_text("H")
    (tmp_path / "sub" / ".git" / "config").write_text("C")
    found = documents_at(tmp_path)
    assert [(one.key, one.content) for one in found.documents] == [
        ("a.txt", b"A"),
        ("sub/b.md", b"B"),
    ]


def test_a_single_file_is_taken_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "terms.html"
    file.write_text("<p>x</p>")
    assert [one.key for one in documents_at(file).documents] == ["terms.html"]


def test_a_file_that_cannot_be_read_is_named_and_the_others_go_in(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    found = documents_at(tmp_path)
    assert [one.key for one in found.documents] == ["good.txt"]


def test_a_file_over_the_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "MOST_BYTES", 1024 * 1024)
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / "huge.txt").write_bytes(b"x" * (1024 * 1024 + 1))
    found = documents_at(tmp_path)
    assert [one.key for one in found.documents] == ["good.txt"]
    assert [(one.key, one.problem) for one in found.unreadable] == [("huge.txt", "over 1 MiB")]


def test_only_unreadable_files_are_an_error_that_names_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "MOST_BYTES", 0)
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(CorpusError, match=r"no readable file .*a\.txt: over 0 MiB"):
        documents_at(tmp_path)


def test_the_language_reference_covers_the_default_question() -> None:
    reference = language_reference()
    assert len(reference.documents) > 50
    (topic,) = [one for one in reference.documents if one.key == "python/try.txt"]
    assert b"finally" in topic.content
