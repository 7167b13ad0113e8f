"""A prompt's version on a call record tells which text was sent, so a version has one text."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from architecture.project import ROOT, hold
from autoops.domain.answers import ANSWERS
from autoops.domain.pricing import price_table
from autoops.domain.prompts import read_prompt

RECORDED: Final = Path(__file__).parent / "prompts.json"


def recorded() -> dict[str, str]:
    """SHA-256 of each version of each prompt, by `<name>@<version>`."""
    known: dict[str, str] = json.loads(RECORDED.read_text("utf-8"))
    return known


def altered(prompts: list[Path], known: Mapping[str, str]) -> Iterator[str]:
    for path in prompts:
        version = read_prompt(path).version
        name = f"{version.name}@{version.version}"
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        place = f"{path.parent.name}/{path.name}"
        if name not in known:
            yield f'{place}: add "{name}": "{found}" to tests/architecture/{RECORDED.name}'
        elif known[name] != found:
            yield (
                f"{place}: reads otherwise than {name} did: raise its version to"
                f" {version.version + 1} and add that to tests/architecture/{RECORDED.name}"
            )


def shipped() -> list[Path]:
    return sorted((ROOT / "functions").glob("*/*/prompt.md"))


def test_a_version_of_a_prompt_has_one_text() -> None:
    assert shipped()
    hold(altered(shipped(), recorded()))


def test_a_changed_text_under_the_same_version_is_named(tmp_path: Path) -> None:
    copy = tmp_path / "prompt.md"
    copy.write_text(shipped()[0].read_text("utf-8") + "Please.\n", "utf-8")
    (said,) = altered([copy], recorded())
    assert "reads otherwise than answer@1 did: raise its version to 2" in said


def test_a_new_version_asks_for_its_hash(tmp_path: Path) -> None:
    copy = tmp_path / "prompt.md"
    copy.write_text(shipped()[0].read_text("utf-8").replace("version: 1", "version: 9"), "utf-8")
    (said,) = altered([copy], recorded())
    assert 'add "answer@9": "' in said


def test_names_of_prompts_are_their_own() -> None:
    names = [read_prompt(path).version.name for path in shipped()]
    assert len(set(names)) == len(names)


def test_what_a_prompt_asks_for_exists() -> None:
    for path in shipped():
        prompt = read_prompt(path)
        assert prompt.answer in ANSWERS, f"{path}: no answer contract {prompt.answer}"
        assert prompt.model is None or prompt.model in price_table(), f"{path}: {prompt.model}"
