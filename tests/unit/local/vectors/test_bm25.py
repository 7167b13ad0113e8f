import pytest

from local.vectors.bm25 import Bm25, analyzer_for


def test_a_rare_word_counts_more_and_a_long_text_less() -> None:
    index = Bm25(analyzer_for(None))
    index.put("short", "the finally clause")
    index.put("long", "the finally clause and the else clause and the try clause of the statement")
    index.put("other", "the loop")
    scores = index.scores("finally")
    assert list(scores) == ["short", "long"]
    assert scores["short"] > scores["long"] > 0
    assert index.scores("finally")["short"] > index.scores("the")["short"]


def test_the_scores_are_those_of_the_formula() -> None:
    index = Bm25(analyzer_for(None))
    index.put("a", "x y")
    index.put("b", "x x z")
    # idf = ln(1 + 0.5 / 2.5); average length 2.5; tf 2, length 3.
    expected = 0.18232155679 * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2.5))
    assert index.scores("x")["b"] == pytest.approx(expected)


def test_texts_come_and_go() -> None:
    index = Bm25(analyzer_for("en"))
    index.put("a", "Loops are executed")
    assert set(index.scores("execute the loop")) == {"a"}
    index.put("a", "Something else entirely")
    assert index.scores("execute the loop") == {}
    index.put("b", "an executed loop")
    index.remove("b")
    index.remove("nobody")
    index.remove("a")
    assert index.scores("executed something") == {}


def test_only_english_drops_endings() -> None:
    index = Bm25(analyzer_for("de"))
    index.put("a", "Schleifen")
    assert index.scores("Schleife") == {}
    assert set(index.scores("schleifen")) == {"a"}
