from pydoc_data.topics import topics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.bedrock.extractive.sentences import readable, sentences

MANUAL = """The "loop" statement
********************

The loop goes on until *all* items,
e.g. numbers, are used up.  [1] It stops at "break". "else" is optional:

   loop_stmt ::= "loop" target

   >>> loop(range(3))
   0

Kinds of loop
=============

* A bounded loop ends.

* An unbounded loop does not: see Mr. Brown's non-
  terminating examples.

object.__loop__(self[, ...])

   Called when the loop begins. Is this the end? Yes!

```
while True: pass  # this is the code that is not quoted.
```
"""


def told(text: str) -> list[str]:
    return [readable(text[found.start : found.end]) for found in sentences(text)]


def test_prose_is_told_without_headings_grammar_code_and_line_ends() -> None:
    assert told(MANUAL) == [
        "The loop goes on until all items, e.g. numbers, are used up.",
        'It stops at "break".',
        '"else" is optional.',
        "A bounded loop ends.",
        "An unbounded loop does not: see Mr. Brown's non-terminating examples.",
        "Called when the loop begins.",
        "Is this the end?",
        "Yes!",
    ]


def test_a_sentence_knows_its_heading_and_the_signature_above_it() -> None:
    found = {MANUAL[s.start : s.end].split(maxsplit=1)[0]: s for s in sentences(MANUAL)}
    assert found["The"].heading == 'The "loop" statement'
    assert found["A"].heading == "Kinds of loop"
    assert found["Called"].signature == "object.__loop__(self[, ...])"
    assert found["A"].signature == ""


def test_markdown_and_other_scripts_are_read_too() -> None:
    assert told("# Title\nFirst point. Second point.\n\n- an item. Done.") == [
        "First point.",
        "Second point.",
        "an item.",
        "Done.",
    ]
    assert told("图书馆九点开门。周日休息。") == ["图书馆九点开门。", "周日休息。"]


@pytest.mark.parametrize("name", ["try", "for", "with", "customization", "execmodel", "types"])
def test_no_code_is_taken_for_a_sentence_of_the_language_reference(name: str) -> None:
    for sentence in told(topics[name]):
        assert ">>>" not in sentence
        assert "::=" not in sentence
        assert "***" not in sentence


@given(st.text(alphabet=st.sampled_from("ab .!?\n*-=`:[]1#\"'()>é。"), max_size=200))
def test_sentences_of_any_text_are_in_order_and_do_not_overlap(text: str) -> None:
    end = 0
    for sentence in sentences(text):
        assert end <= sentence.start < sentence.end <= len(text)
        assert text[sentence.start : sentence.end].strip()
        end = sentence.end
